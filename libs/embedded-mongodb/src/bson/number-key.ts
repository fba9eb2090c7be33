import { Decimal128 } from 'bson';
import { BsonType } from './types.js';

/**
 * Numbers as sortable bytes: the nearest double first, then the remainder. Equal numbers of different types
 * have equal bytes, and different numbers have different bytes.
 */

const sign = 0x8000_0000_0000_0000n;
const scratch = Buffer.alloc(8);

/** Marks of the part after the double. */
const remainder = { negative: 0x40, none: 0x80, positive: 0xc0 } as const;

/** Appends the number that begins at `at` to `target`, from `to` on, and returns where it ends there. */
export function writeNumberKey(bytes: Buffer, type: number, at: number, target: Buffer, to: number): number {
  switch (type) {
    case BsonType.int:
      return writeExact(bytes.readInt32LE(at), target, to);
    case BsonType.double:
      return writeExact(bytes.readDoubleLE(at), target, to);
    case BsonType.long:
      return writeLong(bytes.readBigInt64LE(at), target, to);
    default:
      return writeDecimal(new Decimal128(Uint8Array.prototype.slice.call(bytes, at, at + 16)), target, to);
  }
}

function writeExact(value: number, target: Buffer, to: number): number {
  const end = writeDouble(value, target, to);
  target[end] = remainder.none;
  return end + 1;
}

function writeDouble(value: number, target: Buffer, to: number): number {
  // NaN sorts below every number.
  if (Number.isNaN(value)) return target.fill(0, to, to + 8) && to + 8;
  scratch.writeDoubleBE(value === 0 ? 0 : value);
  const negative = (scratch[0] as number) >= 0x80;
  for (let i = 0; i < 8; i++)
    target[to + i] = (scratch[i] as number) ^ (negative ? 0xff : i === 0 ? 0x80 : 0);
  return to + 8;
}

function writeLong(value: bigint, target: Buffer, to: number): number {
  const nearest = Number(value);
  const rest = value - BigInt(nearest);
  const end = writeDouble(nearest, target, to);
  return writeRemainder(rest, 0, target, end);
}

function writeDecimal(value: Decimal128, target: Buffer, to: number): number {
  const number = Number(value.toString());
  const exact = digitsOf(value);
  if (!exact) return writeExact(number, target, to);
  const nearest = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, number));
  const end = writeDouble(nearest, target, to);
  // Beyond the range of doubles, the remainder is the whole number: a difference would have thousands of
  // digits.
  const base = Number.isFinite(number) ? exactDecimal(nearest) : { digits: 0n, exponent: exact.exponent };
  const exponent = Math.min(exact.exponent, base.exponent);
  return writeRemainder(scale(exact, exponent) - scale(base, exponent), exponent, target, end);
}

/** A number as `digits × 10^exponent`. */
interface Digits {
  digits: bigint;
  exponent: number;
}

/** The digits of a Decimal128; undefined for NaN and the infinities. */
function digitsOf(value: Decimal128): Digits | undefined {
  const [mantissa = '', power = '0'] = value.toString().split('E');
  const [whole = '', fraction = ''] = mantissa.split('.');
  if (!/^-?\d+$/.test(whole)) return undefined;
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** Every double is a finite decimal: m × 2^-k = m × 5^k × 10^-k. */
function exactDecimal(value: number): Digits {
  if (Number.isInteger(value)) return { digits: BigInt(value), exponent: 0 };
  scratch.writeDoubleBE(value);
  const bits = scratch.readBigUInt64BE();
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const power = 1075 - Math.max(biased, 1);
  const digits = mantissa * 5n ** BigInt(power);
  return { digits: bits & sign ? -digits : digits, exponent: -power };
}

function scale(value: Digits, exponent: number): bigint {
  return value.digits * 10n ** BigInt(value.exponent - exponent);
}

/**
 * Sign, then the place of the first digit, then the digits; a negative remainder has its bytes inverted. The
 * digits are shifted by one so that their end sorts before every further digit.
 */
function writeRemainder(digits: bigint, exponent: number, target: Buffer, to: number): number {
  if (digits === 0n) {
    target[to] = remainder.none;
    return to + 1;
  }
  const negative = digits < 0n;
  const text = (negative ? -digits : digits).toString().replace(/0+$/, '');
  const magnitude = (negative ? -digits : digits).toString().length + exponent;
  target[to] = negative ? remainder.negative : remainder.positive;
  const start = to + 1;
  let end = target.writeUInt16BE(magnitude + 0x8000, start);
  for (const digit of text) target[end++] = digit.charCodeAt(0) - 47;
  target[end++] = 0;
  if (negative) for (let i = start; i < end; i++) target[i] = (target[i] as number) ^ 0xff;
  return end;
}
