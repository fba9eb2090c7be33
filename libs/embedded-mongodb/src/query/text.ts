import { type BsonValue, isDocument } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';

/** A `$text` search. */
export interface TextQuery {
  search: string;
}

/** @see https://www.mongodb.com/docs/manual/reference/operator/query/text/ */
export function parseText(argument: BsonValue): TextQuery {
  if (!isDocument(argument)) throw failure('TypeMismatch', '$text expects an object');
  const search = argument.get('$search');
  if (typeof search !== 'string')
    throw failure('TypeMismatch', '"$search" had the wrong type. Expected string');
  for (const [option, value] of argument) {
    if (option === '$search') continue;
    if (!['$language', '$caseSensitive', '$diacriticSensitive'].includes(option)) {
      throw failure('BadValue', `extra fields in $text: ${option}`);
    }
    const isDefault = option === '$language' ? value === 'none' : value === false;
    if (!isDefault) throw unsupported(`The option ${option} of $text`);
  }
  return { search };
}
