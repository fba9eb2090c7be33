import { Decimal128, Double, Long } from 'bson';
import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import {
  type Decimal,
  decimalFromBigInt,
  fromDecimal128,
  multiplyDecimals,
  roundedDecimal,
  toDecimal128,
} from '../../bson/decimal.js';
import { integerValue, toDecimal, toDouble, truncate } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { failure } from '../../errors.js';

expressions.define('$multiply', variadic(multiplyAll, { folds: 'leading' }));

/** Carries a whole and a floating product side by side; which one counts is known at the end, or at the first decimal. */
function multiplyAll(operands: Iterable<Result>): Result {
  let whole: bigint | undefined = 1n;
  let floating = 1;
  let long = false;
  let decimal: Decimal | undefined;
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (!isNumber(operand)) {
      throw failure('TypeMismatch', `$multiply only supports numeric types, not ${nameOf(operand)}`);
    }
    if (decimal || operand instanceof Decimal128) {
      decimal ??= whole === undefined ? roundedDecimal(floating) : decimalFromBigInt(whole);
      decimal = fromDecimal128(toDecimal128(multiplyDecimals(decimal, toDecimal(operand))));
      continue;
    }
    floating *= toDouble(operand);
    long ||= operand instanceof Long;
    if (operand instanceof Double) whole = undefined;
    else if (whole !== undefined) whole = asLong(whole * (truncate(operand) ?? 0n));
  }
  if (decimal) return toDecimal128(decimal);
  return whole === undefined ? new Double(floating) : integerValue(whole, long);
}

/** A whole number, unless it is too large for a Long. */
function asLong(value: bigint): bigint | undefined {
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
