import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { toDouble } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$slice', variadic(slice, { least: 2, most: 3 }));

function slice(operands: Iterable<Result>): Result {
  const [array, first, ...others] = operands;
  if (isNullish(array) || isNullish(first)) return null;
  if (!Array.isArray(array)) {
    throw failureAt(28724, `First argument to $slice must be an array, but is of type: ${nameOf(array)}`);
  }
  const start = wholeNumber(first, 28725, 28726, 'Second');
  if (others.length === 0) return start >= 0 ? array.slice(0, start) : array.slice(start);
  const [second] = others;
  if (isNullish(second)) return null;
  const count = wholeNumber(second, 28727, 28728, 'Third');
  if (count <= 0) throw failureAt(28729, `Third argument to $slice must be positive: ${count}`);
  const from = start < 0 ? Math.max(0, array.length + start) : start;
  return array.slice(from, from + count);
}

function wholeNumber(value: Result, typeCode: number, rangeCode: number, which: string): number {
  if (!isNumber(value))
    throw failureAt(
      typeCode,
      `${which} argument to $slice must be numeric, but is of type: ${nameOf(value)}`,
    );
  const number = toDouble(value);
  if (!Number.isInteger(number) || Math.abs(number) > 0x7fffffff) {
    throw failureAt(
      rangeCode,
      `${which} argument to $slice can't be represented as a 32-bit integer: ${number}`,
    );
  }
  return number;
}
