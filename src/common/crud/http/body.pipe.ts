import type { PipeTransform, Type } from '@nestjs/common';
import { InputReader } from '../../fields/index.js';

/** Reads the body of a create strictly by an input class, for hand-written controllers; null is refused. */
export function createBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Input>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.read(body) };
}

/** Reads a merge patch (RFC 7396) strictly by an input class, for hand-written controllers; every field is optional. */
export function updateBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Partial<Input>>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.readPatch(body) };
}
