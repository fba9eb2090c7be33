import { compareValues, valuesEqual } from '../../bson/compare.js';
import type { BsonArray, BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { nameOf } from '../operator.js';
import type { Result } from '../scope.js';

/** In ascending order and each value once, as MongoDB gives sets. */
export function distinct(values: BsonArray): BsonArray {
  const sorted = [...values].sort(compareValues);
  return sorted.filter((each, index) => index === 0 || !valuesEqual(each, sorted[index - 1] as BsonValue));
}

/** An operand that has to be an array. */
export function set(operator: string, value: Result, code: number): BsonArray {
  if (Array.isArray(value)) return value;
  throw failureAt(
    code,
    `All operands of ${operator} must be arrays. One argument is of type: ${nameOf(value)}`,
  );
}
