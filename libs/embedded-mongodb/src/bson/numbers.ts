import { Decimal128, Double, Int32, Long } from 'bson';
import {
  addDecimals,
  type Decimal,
  decimalFromBigInt,
  decimalToDouble,
  exactDecimal,
  fromDecimal128,
  multiplyDecimals,
  roundedDecimal,
  toDecimal128,
} from './decimal.js';
import type { BsonNumber, BsonValue } from './types.js';

const minLong = -(2n ** 63n);
const maxLong = 2n ** 63n - 1n;

/** The nearest JavaScript number. */
export function toDouble(value: BsonNumber): number {
  if (value instanceof Long) return value.toNumber();
  if (value instanceof Decimal128) return decimalToDouble(fromDecimal128(value));
  return value.value;
}

/** Whether a value is a NaN of either floating type. */
export function isNaNValue(value: BsonValue | undefined): boolean {
  if (value instanceof Double) return Number.isNaN(value.value);
  return value instanceof Decimal128 && fromDecimal128(value).kind === 'nan';
}

/** Whether a number is zero of either sign; a decimal too small for a double is none. */
export function isZero(value: BsonNumber): boolean {
  if (!(value instanceof Decimal128)) return toDouble(value) === 0;
  const parts = fromDecimal128(value);
  return parts.kind === 'finite' && parts.coefficient === 0n;
}

/**
 * The sum in the wider of the two types; Int32 widens to Long when it overflows.
 *
 * @returns `undefined` when a Long overflows and `onLongOverflow` is `'fail'`.
 */
export function add(a: BsonNumber, b: BsonNumber, onLongOverflow: 'fail' | 'double'): BsonNumber | undefined {
  return combine(a, b, onLongOverflow, {
    decimal: addDecimals,
    double: (x, y) => x + y,
    integer: (x, y) => x + y,
  });
}

/** The product, by the rules of {@link add}. */
export function multiply(
  a: BsonNumber,
  b: BsonNumber,
  onLongOverflow: 'fail' | 'double',
): BsonNumber | undefined {
  return combine(a, b, onLongOverflow, {
    decimal: multiplyDecimals,
    double: (x, y) => x * y,
    integer: (x, y) => x * y,
  });
}

/** A whole number as an Int32, or as a Long where it does not fit or an operand was one already. */
export function integerValue(value: bigint, long: boolean): Int32 | Long {
  return long || BigInt.asIntN(32, value) !== value ? Long.fromBigInt(value) : new Int32(Number(value));
}

/** A number as a decimal; doubles are rounded to 15 digits. */
export function toDecimal(value: BsonNumber): Decimal {
  return value instanceof Double ? roundedDecimal(value.value) : exact(value);
}

/**
 * The whole part of a number.
 *
 * @returns `undefined` when it does not fit a Long.
 */
export function truncate(value: BsonNumber): bigint | undefined {
  let whole: bigint;
  if (value instanceof Decimal128) {
    const parts = fromDecimal128(value);
    if (parts.kind === 'finite' && parts.coefficient === 0n) return 0n;
    if (parts.kind !== 'finite' || parts.exponent > 20) return undefined;
    whole = parts.coefficient * 10n ** BigInt(Math.max(0, parts.exponent));
    whole /= 10n ** BigInt(Math.max(0, -parts.exponent));
    if (parts.negative) whole = -whole;
  } else if (value instanceof Double) {
    if (!Number.isFinite(value.value)) return undefined;
    whole = BigInt(Math.trunc(value.value));
  } else whole = toInteger(value);
  return whole < minLong || whole > maxLong ? undefined : whole;
}

interface Operation {
  decimal(a: Decimal, b: Decimal): Decimal;
  double(a: number, b: number): number;
  integer(a: bigint, b: bigint): bigint;
}

function combine(
  a: BsonNumber,
  b: BsonNumber,
  onLongOverflow: 'fail' | 'double',
  operation: Operation,
): BsonNumber | undefined {
  if (a instanceof Decimal128 || b instanceof Decimal128) {
    return toDecimal128(operation.decimal(toDecimal(a), toDecimal(b)));
  }
  if (a instanceof Double || b instanceof Double)
    return new Double(operation.double(toDouble(a), toDouble(b)));
  const result = operation.integer(toInteger(a), toInteger(b));
  if (result >= minLong && result <= maxLong)
    return integerValue(result, a instanceof Long || b instanceof Long);
  return onLongOverflow === 'fail' ? undefined : new Double(operation.double(toDouble(a), toDouble(b)));
}

function toInteger(value: Int32 | Long): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt(value.value);
}

function exact(value: BsonNumber): Decimal {
  if (value instanceof Decimal128) return fromDecimal128(value);
  return value instanceof Double ? exactDecimal(value.value) : decimalFromBigInt(toInteger(value));
}
