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

/** Reads the body of a create strictly as an input class, for hand-written controllers. */
export function createBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Input>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.read(body) };
}

/** Reads a merge patch (RFC 7396) of an input class strictly, for hand-written controllers. */
export function updateBodyPipe<Input extends object>(
  input: Type<Input>,
): PipeTransform<unknown, Promise<Partial<Input>>> {
  const reader = new InputReader(input);
  return { transform: (body) => reader.readPatch(body) };
}
