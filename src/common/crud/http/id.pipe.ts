import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { InvalidIdError } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';

/**
 * Accepts only object identifiers: 24 hexadecimal digits, which are returned in lower case.
 *
 * @throws InvalidIdError that names the parameter
 */
export function checkId(value: string, parameter: string): string {
  if (!isObjectId(value)) throw new InvalidIdError(parameter);
  return value.toLowerCase();
}

/** Checks an identifier in the path of a hand-written controller, and returns it in lower case. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  /** @throws InvalidIdError */
  transform(value: string, { data }: ArgumentMetadata): string {
    return checkId(value, data ?? 'id');
  }
}
