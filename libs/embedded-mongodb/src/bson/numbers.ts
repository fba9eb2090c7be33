import { Decimal128, Double, Int32, Long } from 'bson';
import { unsupported } from '../errors.js';
import { compareValues } from './compare.js';
import { type BsonNumber, type BsonValue, isNumber } from './types.js';

/** A number that this server can calculate with. */
export type PlainNumber = Exclude<BsonNumber, Decimal128>;

/** The nearest JavaScript number. */
export function toDouble(value: BsonNumber): number {
  if (value instanceof Long) return value.toNumber();
  return value instanceof Decimal128 ? Number(value.toString()) : value.value;
}

/** Whether a value is NaN in either floating type. */
export function isNaNValue(value: BsonValue | undefined): boolean {
  return (value instanceof Double || value instanceof Decimal128) && Number.isNaN(toDouble(value));
}

/** Whether a number is zero of either sign; a decimal that is too small for a double is not. */
export function isZero(value: BsonNumber): boolean {
  return compareValues(value, new Int32(0)) === 0;
}

/** @throws CommandError CommandNotSupported (115) for a decimal, which this server can only compare */
export function plainNumber(value: BsonNumber): PlainNumber {
  if (value instanceof Decimal128) throw unsupported('Arithmetic with Decimal128');
  return value;
}

/**
 * The sum in the wider of the two types; Int32 widens to Long when it overflows.
 *
 * @returns `undefined` when a Long overflows.
 */
export function add(a: PlainNumber, b: PlainNumber): PlainNumber | undefined {
  if (a instanceof Double || b instanceof Double) return new Double(toDouble(a) + toDouble(b));
  return inRange(toInteger(a) + toInteger(b), a, b);
}

/** The product, by the rules of {@link add}. */
export function multiply(a: PlainNumber, b: PlainNumber): PlainNumber | undefined {
  if (a instanceof Double || b instanceof Double) return new Double(toDouble(a) * toDouble(b));
  return inRange(toInteger(a) * toInteger(b), a, b);
}

/** The difference, by the rules of {@link add}. */
export function subtract(a: PlainNumber, b: PlainNumber): PlainNumber | undefined {
  if (a instanceof Double || b instanceof Double) return new Double(toDouble(a) - toDouble(b));
  return inRange(toInteger(a) - toInteger(b), a, b);
}

/** A whole number as an Int32, or as a Long if it does not fit or if an operand was a Long. */
export function integerValue(value: bigint, long: boolean): Int32 | Long {
  return long || BigInt.asIntN(32, value) !== value ? Long.fromBigInt(value) : new Int32(Number(value));
}

/** A whole number, unless it is too large for a Long. */
export function asLong(value: bigint): bigint | undefined {
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** The value of a number of an integer type. */
export function toInteger(value: Int32 | Long): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt(value.value);
}

/** A whole number that fits a Long as a JavaScript number; undefined for any other value. */
export function wholeNumber(value: BsonValue | undefined): number | undefined {
  if (!isNumber(value)) return undefined;
  const number = toDouble(value);
  if (value instanceof Long) return number;
  const isWhole = Number.isInteger(number) && compareValues(value, new Double(number)) === 0;
  return isWhole && Math.abs(number) < 2 ** 63 ? number : undefined;
}

function inRange(value: bigint, a: Int32 | Long, b: Int32 | Long): Int32 | Long | undefined {
  return asLong(value) === undefined
    ? undefined
    : integerValue(value, a instanceof Long || b instanceof Long);
}
