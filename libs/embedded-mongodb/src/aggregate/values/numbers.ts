import { Int32 } from 'bson';
import { multiply } from '../../bson/numbers.js';
import { type BsonNumber, isNumber } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { nameOf } from '../operator.js';
import type { Result } from '../scope.js';

/** A number, or the error that there is none. */
export function numeric(operator: string, value: Result): BsonNumber {
  if (isNumber(value)) return value;
  throw failureAt(28765, `${operator} only supports numeric types, not ${nameOf(value)}`);
}

/** A number but a decimal with its sign turned. */
export function negated(value: BsonNumber): BsonNumber {
  return multiply(value, new Int32(-1), 'double') as BsonNumber;
}
