import { describeDocument } from '../bson/describe.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { badValue } from '../errors.js';
import type { QueryRequest } from './query.js';

/**
 * Treats a sort by `$natural` as a hint to walk the collection itself in that direction.
 *
 * @throws CommandError BadValue (2) for a direction other than 1 and -1, or if another hint or field is given
 */
export function naturalOrder(request: QueryRequest): QueryRequest {
  const { sort, hint } = request;
  const hinted = isDocument(hint) && hint.has('$natural') ? direction(hint, 'hint') : undefined;
  if (!sort?.has('$natural')) return request;
  const sorted = direction(sort, 'sort');
  if (hint !== undefined && hinted === undefined)
    throw badValue('index hint not allowed with $natural sort order');
  if (hinted !== undefined && hinted !== sorted)
    throw badValue('$natural hint must be in the same direction as $natural sort order');
  return { ...request, sort: undefined, hint: sort };
}

function direction(given: BsonDocument, what: string): 1 | -1 {
  const value: BsonValue | undefined = given.get('$natural');
  const number = isNumber(value) ? toDouble(value) : NaN;
  if (given.size === 1 && (number === 1 || number === -1)) return number;
  throw badValue(`$natural ${what} cannot be set to a value other than -1 or 1: ${describeDocument(given)}`);
}
