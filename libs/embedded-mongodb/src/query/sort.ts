import { fieldPath } from '../aggregate/field-path.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { failureAt, unsupported } from '../errors.js';
import { Double } from 'bson';

/** One field of a sort. */
export interface SortField {
  path: string;
  descending: boolean;
}

/**
 * The fields of a sort.
 *
 * @throws CommandError 15975 for directions other than 1 and -1, and others with MongoDB's messages.
 * @see https://www.mongodb.com/docs/manual/reference/method/cursor.sort/
 */
export function parseSort(spec: BsonDocument): SortField[] {
  return [...spec].map(([path, direction]) => parseField(path, direction));
}

function parseField(path: string, direction: BsonValue): SortField {
  fieldPath(path);
  if (isDocument(direction)) {
    const kind = direction.get('$meta');
    if (direction.size !== 1 || kind === undefined)
      throw failureAt(17312, '$meta is the only expression supported by $sort right now');
    throw unsupported(`Sorting by $meta ${String(kind)}`);
  }
  if (!isNumber(direction)) throw failureAt(15974, `Illegal key in $sort specification: ${path}`);
  const number = direction instanceof Double ? Math.trunc(direction.value) : toDouble(direction);
  if (number !== 1 && number !== -1) {
    throw failureAt(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
  }
  return { path, descending: number === -1 };
}
