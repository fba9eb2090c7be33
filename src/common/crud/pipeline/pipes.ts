import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { InputReader } from '../../fields/index.js';
import { checkId } from './crud.interceptor.js';

/** Checks an identifier in the path of a hand-written controller, and returns it in lower case. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  /** @throws InvalidIdError */
  transform(value: string, { data }: ArgumentMetadata): string {
    return checkId(value, data ?? 'id');
  }
}

/** Checks the body of a create strictly against an input class, for hand-written controllers. Rejects null. */
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
