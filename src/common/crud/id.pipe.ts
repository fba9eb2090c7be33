import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { InvalidIdError } from '../errors/index.js';

/** Lets only object identifiers through: 24 hexadecimal digits. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  /** @throws InvalidIdError */
  transform(value: string, { data }: ArgumentMetadata): string {
    if (!/^[0-9a-f]{24}$/i.test(value)) throw new InvalidIdError(data ?? 'id');
    return value.toLowerCase();
  }
}
