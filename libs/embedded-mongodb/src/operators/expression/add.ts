import { Double, Long } from 'bson';
import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { asLong, integerValue, plainNumber, toDouble, toInteger } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { typeMismatch, unsupported } from '../../errors.js';

expressions.define('$add', variadic(addAll));

/** Adds whole numbers as 64 bits, whose type is decided at the end, and doubles from the first one on. */
function addAll(operands: Iterable<Result>): Result {
  let whole: bigint | undefined = 0n;
  let floating = 0;
  let long = false;
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (operand instanceof Date) throw unsupported('$add of a date');
    if (!isNumber(operand))
      throw typeMismatch(`$add only supports numeric or date types, not ${nameOf(operand)}`);
    const number = plainNumber(operand);
    const before: bigint | undefined = whole;
    whole = before === undefined || number instanceof Double ? undefined : asLong(before + toInteger(number));
    if (whole === undefined) floating = (before === undefined ? floating : Number(before)) + toDouble(number);
    long ||= number instanceof Long;
  }
  return whole === undefined ? new Double(floating) : integerValue(whole, long);
}
