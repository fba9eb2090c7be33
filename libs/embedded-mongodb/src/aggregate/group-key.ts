import { Decimal128, Long } from 'bson';
import { fromDecimal128 } from '../bson/decimal.js';
import { encodeDocument } from '../bson/encode.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonNumber, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { typeRank } from '../bson/compare.js';

/** A text that two values share exactly when MongoDB takes them for equal: numbers by value, whatever their types. */
export function groupKey(value: BsonValue): string {
  if (isNumber(value)) return `n${numberKey(value)}`;
  if (typeof value === 'string') return `s${JSON.stringify(value)}`;
  if (Array.isArray(value)) return `[${value.map(groupKey).join()}]`;
  if (isDocument(value)) {
    return `{${Array.from(value, ([name, each]) => `${JSON.stringify(name)}:${groupKey(each)}`).join()}}`;
  }
  return `${typeRank(value)}#${Buffer.from(encodeDocument(new Map([['', value]]))).toString('latin1')}`;
}

/** The exact value as digits and a power of ten; other types come to the same as long as they stand for the same number. */
function numberKey(value: BsonNumber): string {
  if (value instanceof Decimal128) {
    const parts = fromDecimal128(value);
    if (parts.kind !== 'finite')
      return parts.kind === 'nan' ? 'NaN' : parts.negative ? '-Infinity' : 'Infinity';
    return scientific(parts.negative, parts.coefficient, parts.exponent);
  }
  if (value instanceof Long) {
    const whole = value.toBigInt();
    return scientific(whole < 0n, whole < 0n ? -whole : whole, 0);
  }
  return doubleKey(toDouble(value));
}

function doubleKey(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const negative = value < 0;
  let scaled = Math.abs(value);
  let halvings = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    halvings++;
  }
  return scientific(negative, BigInt(scaled) * 5n ** BigInt(halvings), -halvings);
}

function scientific(negative: boolean, coefficient: bigint, exponent: number): string {
  if (coefficient === 0n) return '0';
  const digits = coefficient.toString();
  const trimmed = digits.replace(/0+$/, '');
  return `${negative ? '-' : ''}${trimmed}e${exponent + digits.length - trimmed.length}`;
}
