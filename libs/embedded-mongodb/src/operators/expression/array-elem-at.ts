import { binary, expressions, nameOf, nullable } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { wholeNumber } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$arrayElemAt', nullable(binary(elementAt)));

function elementAt(array: Result, position: Result): Result {
  if (!Array.isArray(array)) {
    throw failureAt(28689, `$arrayElemAt's first argument must be an array, but is ${nameOf(array)}`);
  }
  if (!isNumber(position)) {
    throw failureAt(
      28690,
      `$arrayElemAt's second argument must be a numeric value, but is ${nameOf(position)}`,
    );
  }
  const index = wholeNumber(position);
  if (index === undefined || Math.abs(index) > 0x7fffffff)
    throw failureAt(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer");
  return array.at(index);
}
