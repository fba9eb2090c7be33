import { Double, Long } from 'bson';
import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { asLong, integerValue, plainNumber, toDouble, toInteger } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { typeMismatch } from '../../errors.js';

expressions.define('$multiply', variadic(multiplyAll));

/** Computes an integer and a floating product side by side; the types decide at the end which one counts. */
function multiplyAll(operands: Iterable<Result>): Result {
  let whole: bigint | undefined = 1n;
  let floating = 1;
  let long = false;
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (!isNumber(operand)) {
      throw typeMismatch(`$multiply only supports numeric types, not ${nameOf(operand)}`);
    }
    const number = plainNumber(operand);
    floating *= toDouble(number);
    long ||= number instanceof Long;
    whole = whole === undefined || number instanceof Double ? undefined : asLong(whole * toInteger(number));
  }
  return whole === undefined ? new Double(floating) : integerValue(whole, long);
}
