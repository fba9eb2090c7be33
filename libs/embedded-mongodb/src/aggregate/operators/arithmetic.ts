import { Decimal128, Double, Int32, Long } from 'bson';
import {
  addDecimals,
  divideDecimals,
  fromDecimal128,
  nearestDecimal,
  negateDecimal,
  remainderOfDecimals,
  toDecimal128,
  wholeDecimal,
  type Decimal,
  decimalFromBigInt,
  multiplyDecimals,
  roundedDecimal,
} from '../../bson/decimal.js';
import { dateBeyondRange, maxDate } from '../../bson/decode.js';
import { add, integerValue, isZero, multiply, toDecimal, toDouble, truncate } from '../../bson/numbers.js';
import { type BsonNumber, type BsonValue, isNumber, typeName } from '../../bson/types.js';
import { failure, failureAt } from '../../errors.js';
import type { Result } from '../scope.js';
import { binary, isNullish, nullable, type Operator, present, unary, variadic } from './operator.js';

export const arithmeticOperators: Record<string, Operator> = {
  $add: variadic(addAll, { folds: 'leading' }),
  $subtract: nullable(binary((a, b) => subtract(present(a), present(b)))),
  $multiply: variadic(multiplyAll, { folds: 'leading' }),
  $divide: nullable(binary((a, b) => divide(present(a), present(b)))),
  $mod: nullable(binary((a, b) => modulo(present(a), present(b)))),
  $abs: nullable(unary((value) => absolute(numeric('$abs', value)))),
  $ceil: nullable(unary((value) => rounded(numeric('$ceil', value), 'up'))),
  $floor: nullable(unary((value) => rounded(numeric('$floor', value), 'down'))),
};

function numeric(operator: string, value: Result): BsonNumber {
  if (isNumber(value)) return value;
  throw failureAt(28765, `${operator} only supports numeric types, not ${nameOf(value)}`);
}

function nameOf(value: Result): string {
  return value === undefined ? 'missing' : typeName(value);
}

/** Adds up in the widest type met so far. From a date on, each operand is rounded to milliseconds before it is added. */
function addAll(operands: Iterable<Result>): Result {
  let sum: Sum = { kind: 'whole', value: 0n, long: false };
  let isDate = false;
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (operand instanceof Date) {
      if (isDate) throw failureAt(16612, 'only one date allowed in an $add expression');
      isDate = true;
      const millis: bigint = wholeMillis('$add', numberOf(sum)) + BigInt(operand.getTime());
      sum = { kind: 'whole', value: inRange('$add', millis), long: true };
    } else if (!isNumber(operand)) {
      throw failure('TypeMismatch', `$add only supports numeric or date types, not ${nameOf(operand)}`);
    } else if (isDate && sum.kind === 'whole') {
      sum = { ...sum, value: inRange('$add', sum.value + wholeMillis('$add', operand)) };
    } else {
      sum = plus(sum, operand);
    }
  }
  return isDate && sum.kind === 'whole' ? dateOf(sum.value) : numberOf(sum);
}

/** A sum on its way: whole numbers are added as 64 bits, and have their type only at the end. */
type Sum = { kind: 'whole'; value: bigint; long: boolean } | { kind: 'other'; value: BsonNumber };

function plus(sum: Sum, operand: BsonNumber): Sum {
  if (sum.kind === 'other' || operand instanceof Double || operand instanceof Decimal128) {
    return { kind: 'other', value: add(numberOf(sum), operand, 'double') as BsonNumber };
  }
  const value = sum.value + (truncate(operand) ?? 0n);
  if (BigInt.asIntN(64, value) === value)
    return { kind: 'whole', value, long: sum.long || operand instanceof Long };
  return { kind: 'other', value: new Double(Number(sum.value) + toDouble(operand)) };
}

function numberOf(sum: Sum): BsonNumber {
  return sum.kind === 'whole' ? integerValue(sum.value, sum.long) : sum.value;
}

function subtract(a: BsonValue, b: BsonValue): BsonValue {
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date && isNumber(b))
    return dateOf(inRange('$subtract', BigInt(a.getTime()) - wholeMillis('$subtract', b)));
  if (!isNumber(a) || !isNumber(b)) {
    throw failure('TypeMismatch', `can't $subtract ${nameOf(b)} from ${nameOf(a)}`);
  }
  if (a instanceof Decimal128 || b instanceof Decimal128)
    return toDecimal128(addDecimals(toDecimal(a), negateDecimal(toDecimal(b))));
  if (a instanceof Double || b instanceof Double) return new Double(toDouble(a) - toDouble(b));
  const difference = (truncate(a) ?? 0n) - (truncate(b) ?? 0n);
  if (BigInt.asIntN(64, difference) !== difference) return new Double(toDouble(a) - toDouble(b));
  return integerValue(difference, a instanceof Long || b instanceof Long);
}

/** A number as whole milliseconds: a double is rounded half away from zero, a decimal half to even. */
function wholeMillis(operator: string, value: BsonNumber): bigint {
  const whole = value instanceof Double ? awayFromZero(value) : truncate(halfToEven(value));
  if (whole === undefined) throw failure('Overflow', `date overflow in ${operator}`);
  return whole;
}

function awayFromZero({ value }: Double): bigint | undefined {
  // Adding a half first would be inexact just below a half, and from 2^52 on.
  const whole = Math.trunc(value);
  return truncate(new Double(Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole));
}

function halfToEven(value: BsonNumber): BsonNumber {
  return value instanceof Decimal128 ? toDecimal128(nearestDecimal(fromDecimal128(value))) : value;
}

function inRange(operator: string, millis: bigint): bigint {
  if (BigInt.asIntN(64, millis) !== millis) throw failure('Overflow', `date overflow in ${operator}`);
  return millis;
}

function dateOf(millis: bigint): Date {
  if (millis > maxDate || millis < -maxDate) throw dateBeyondRange();
  return new Date(Number(millis));
}

function negated(value: BsonNumber): BsonNumber {
  return multiply(value, new Int32(-1), 'double') as BsonNumber;
}

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

function divide(a: BsonValue, b: BsonValue): BsonValue {
  if (!isNumber(a) || !isNumber(b)) {
    throw failure('TypeMismatch', `$divide only supports numeric types, not ${nameOf(a)} and ${nameOf(b)}`);
  }
  if (isZero(b)) throw failure('BadValue', `can't $divide by zero`);
  if (a instanceof Decimal128 || b instanceof Decimal128) {
    return toDecimal128(divideDecimals(toDecimal(a), toDecimal(b)));
  }
  return new Double(toDouble(a) / toDouble(b));
}

function modulo(a: BsonValue, b: BsonValue): BsonValue {
  if (!isNumber(a) || !isNumber(b)) {
    throw failureAt(16611, `$mod only supports numeric types, not ${nameOf(a)} and ${nameOf(b)}`);
  }
  const decimal = a instanceof Decimal128 || b instanceof Decimal128;
  if (isZero(b)) throw failureAt(decimal ? 5733415 : 16610, `can't $mod by zero`);
  if (decimal) {
    return toDecimal128(remainderOfDecimals(toDecimal(a), toDecimal(b)));
  }
  // As in MongoDB, dividing a whole number by a double with the value of an Int32 leaves it whole.
  const whole = toDouble(b) === (toDouble(b) | 0);
  if (a instanceof Double || (b instanceof Double && !whole)) return new Double(toDouble(a) % toDouble(b));
  return integerValue((truncate(a) ?? 0n) % (truncate(b) ?? 1n), a instanceof Long || b instanceof Long);
}

function absolute(value: BsonNumber): BsonValue {
  if (value instanceof Double) return new Double(Math.abs(value.value));
  if (value instanceof Decimal128) {
    const parts = fromDecimal128(value);
    return parts.kind === 'nan' ? value : toDecimal128({ ...parts, negative: false });
  }
  if (value instanceof Long && value.eq(Long.MIN_VALUE))
    throw failureAt(28680, `can't take $abs of long long min`);
  return toDouble(value) < 0 ? negated(value) : (add(value, new Int32(0), 'double') as BsonNumber);
}

function rounded(value: BsonNumber, direction: 'up' | 'down'): BsonValue {
  if (value instanceof Double) {
    return new Double(direction === 'up' ? Math.ceil(value.value) : Math.floor(value.value));
  }
  return value instanceof Decimal128 ? toDecimal128(wholeDecimal(fromDecimal128(value), direction)) : value;
}
