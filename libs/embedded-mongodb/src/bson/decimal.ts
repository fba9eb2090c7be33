import { Decimal128 } from 'bson';

/** Most significant digits that a Decimal128 holds. */
const precision = 34;
const largestExponent = 6111;
const smallestExponent = -6176;
const largestCoefficient = 10n ** BigInt(precision) - 1n;

/** A Decimal128 taken apart: `sign × coefficient × 10^exponent`, or one of the values that are no number. */
export type Decimal =
  | { kind: 'finite'; negative: boolean; coefficient: bigint; exponent: number }
  | { kind: 'infinity'; negative: boolean }
  | { kind: 'nan' };

/** @see https://en.wikipedia.org/wiki/Decimal128_floating-point_format (binary integer significand) */
export function fromDecimal128(value: Decimal128): Decimal {
  const view = new DataView(value.bytes.buffer, value.bytes.byteOffset, 16);
  const high = view.getBigUint64(8, true);
  const negative = high >> 63n === 1n;
  const combination = Number((high >> 58n) & 0x1fn);
  if (combination === 0x1f) return { kind: 'nan' };
  if (combination === 0x1e) return { kind: 'infinity', negative };
  // A significand that starts with binary 100 exceeds 34 digits, and the standard reads it as zero.
  if (combination >= 0x18) {
    return finite(negative, 0n, Number((high >> 47n) & 0x3fffn) + smallestExponent);
  }
  const coefficient = ((high & 0x1ffffffffffffn) << 64n) | view.getBigUint64(0, true);
  return finite(
    negative,
    coefficient > largestCoefficient ? 0n : coefficient,
    Number((high >> 49n) & 0x3fffn) + smallestExponent,
  );
}

/** Rounds to 34 digits, half to even, and packs. */
export function toDecimal128(value: Decimal): Decimal128 {
  if (value.kind === 'nan') return Decimal128.fromString('NaN');
  if (value.kind === 'infinity') return Decimal128.fromString(value.negative ? '-Infinity' : 'Infinity');
  const { negative, coefficient, exponent } = fit(value.coefficient, value.exponent, value.negative);
  if (exponent > largestExponent) return Decimal128.fromString(negative ? '-Infinity' : 'Infinity');
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  const biased = BigInt(exponent - smallestExponent) << 49n;
  view.setBigUint64(0, coefficient & 0xffffffffffffffffn, true);
  view.setBigUint64(8, (negative ? 1n << 63n : 0n) | biased | (coefficient >> 64n), true);
  return new Decimal128(bytes);
}

/** A whole number as a decimal. */
export function decimalFromBigInt(value: bigint): Decimal {
  return finite(value < 0n, value < 0n ? -value : value, 0);
}

/** The decimal with exactly a double's value: each double is a fraction whose divisor is a power of two. */
export function exactDecimal(value: number): Decimal {
  if (Number.isNaN(value)) return { kind: 'nan' };
  if (!Number.isFinite(value)) return { kind: 'infinity', negative: value < 0 };
  const negative = value < 0 || Object.is(value, -0);
  let scaled = Math.abs(value);
  let powerOfTwo = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    powerOfTwo++;
  }
  return finite(negative, BigInt(scaled) * 5n ** BigInt(powerOfTwo), -powerOfTwo);
}

/** Digits that a double keeps where it is mixed with decimals. */
const roundedDigits = 15;

/** A double as a decimal of 15 significant digits, the way MongoDB mixes the two types in arithmetic. */
export function roundedDecimal(value: number): Decimal {
  const exact = exactDecimal(value);
  if (exact.kind !== 'finite' || exact.coefficient === 0n) return exact;
  const excess = digitCount(exact.coefficient) - roundedDigits;
  if (excess <= 0)
    return finite(exact.negative, exact.coefficient * 10n ** BigInt(-excess), exact.exponent + excess);
  const digits = roundHalfEven(exact.coefficient, excess);
  const carried = digitCount(digits) > roundedDigits;
  return finite(exact.negative, carried ? digits / 10n : digits, exact.exponent + excess + Number(carried));
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.kind === 'nan' || b.kind === 'nan') return { kind: 'nan' };
  if (a.kind === 'infinity') return b.kind === 'infinity' && a.negative !== b.negative ? { kind: 'nan' } : a;
  if (b.kind === 'infinity') return b;
  const exponent = Math.min(a.exponent, b.exponent);
  const sum = scaledTo(a, exponent) + scaledTo(b, exponent);
  return finite(sum < 0n || (sum === 0n && a.negative && b.negative), sum < 0n ? -sum : sum, exponent);
}

export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.kind === 'nan' || b.kind === 'nan') return { kind: 'nan' };
  const negative = a.negative !== b.negative;
  if (a.kind === 'finite' && b.kind === 'finite') {
    return finite(negative, a.coefficient * b.coefficient, a.exponent + b.exponent);
  }
  return isZero(a) || isZero(b) ? { kind: 'nan' } : { kind: 'infinity', negative };
}

/** The quotient to 34 digits, with as few trailing zeros as the operands' exponents ask for. */
export function divideDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.kind === 'nan' || b.kind === 'nan') return { kind: 'nan' };
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinity') return b.kind === 'infinity' ? { kind: 'nan' } : { kind: 'infinity', negative };
  if (b.kind === 'infinity') return finite(negative, 0n, smallestExponent);
  if (b.coefficient === 0n) return a.coefficient === 0n ? { kind: 'nan' } : { kind: 'infinity', negative };
  const preferred = a.exponent - b.exponent;
  const shift = Math.max(0, 2 * precision + 1 + digitCount(b.coefficient) - digitCount(a.coefficient));
  let dividend = a.coefficient * 10n ** BigInt(shift);
  // A remainder that is cut off must still count when the quotient is rounded half to even.
  const sticky = dividend % b.coefficient === 0n ? 0n : 1n;
  dividend = (dividend / b.coefficient) * 10n + sticky;
  let exponent = preferred - shift - 1;
  while (exponent < preferred && dividend % 10n === 0n) {
    dividend /= 10n;
    exponent++;
  }
  return finite(negative, dividend, exponent);
}

export function negateDecimal(value: Decimal): Decimal {
  return value.kind === 'nan' ? value : { ...value, negative: !value.negative };
}

/** The nearest double. */
export function decimalToDouble(value: Decimal): number {
  if (value.kind === 'nan') return NaN;
  if (value.kind === 'infinity') return value.negative ? -Infinity : Infinity;
  return Number(`${value.negative ? '-' : ''}${value.coefficient}e${value.exponent}`);
}

function finite(negative: boolean, coefficient: bigint, exponent: number): Decimal & { kind: 'finite' } {
  return { kind: 'finite', negative, coefficient, exponent };
}

function isZero(value: Decimal): boolean {
  return value.kind === 'finite' && value.coefficient === 0n;
}

function scaledTo(value: Decimal & { kind: 'finite' }, exponent: number): bigint {
  const scaled = value.coefficient * 10n ** BigInt(value.exponent - exponent);
  return value.negative ? -scaled : scaled;
}

function digitCount(value: bigint): number {
  return value.toString().length;
}

function fit(coefficient: bigint, exponent: number, negative: boolean): Decimal & { kind: 'finite' } {
  const excess = Math.max(digitCount(coefficient) - precision, smallestExponent - exponent);
  if (excess > 0) return fit(roundHalfEven(coefficient, excess), exponent + excess, negative);
  let [digits, power] = [coefficient, exponent];
  if (digits === 0n) power = Math.min(power, largestExponent);
  while (power > largestExponent && digits * 10n <= largestCoefficient) {
    digits *= 10n;
    power--;
  }
  return finite(negative, digits, power);
}

function roundHalfEven(coefficient: bigint, digits: number): bigint {
  const divisor = 10n ** BigInt(digits);
  const quotient = coefficient / divisor;
  const twice = (coefficient % divisor) * 2n;
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient;
}
