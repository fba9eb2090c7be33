import type { PipeTransform, Type } from '@nestjs/common';
import { InputReader } from '../../fields/index.js';

/**
 * Checks the body of a create strictly against an input class, for hand-written controllers. Rejects null.
 */
export function createBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Input>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.read(body) };
}

/**
 * Checks a merge patch (RFC 7396) strictly against an input class, for hand-written controllers. Every field
 * is optional.
 */
export function updateBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Partial<Input>>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.readPatch(body) };
}
