import { Double, Int32, ObjectId } from 'bson';
import { encodeKey, rankOfType } from './key.js';
import { BsonType, type BsonValue, typeName } from './types.js';

/**
 * A value's place among the types.
 *
 * @see https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function typeRank(value: BsonValue): number {
  return rankOfType(BsonType[typeName(value)]);
}

/**
 * The total order of BSON values: by type, then by value. It is the order of their keys, and so of every
 * index.
 */
export function compareValues(a: BsonValue, b: BsonValue): number {
  return compareAlike(a, b) ?? (typeRank(a) - typeRank(b) || encodeKey(a).compare(encodeKey(b)));
}

/**
 * Whether two values are the same to MongoDB: numbers by value across types, documents including their field
 * order.
 */
export function valuesEqual(a: BsonValue, b: BsonValue): boolean {
  return compareValues(a, b) === 0;
}

/** A shortcut for two values of the most common types. */
function compareAlike(a: BsonValue, b: BsonValue): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (a instanceof ObjectId && b instanceof ObjectId) return Buffer.compare(a.id, b.id);
  if ((a instanceof Int32 || a instanceof Double) && (b instanceof Int32 || b instanceof Double)) {
    if (a.value < b.value) return -1;
    if (a.value > b.value) return 1;
    // NaN is the least and equals itself.
    return Number(Number.isNaN(b.value)) - Number(Number.isNaN(a.value));
  }
  return undefined;
}

/**
 * The order of the strings' UTF-8 bytes. JavaScript's own differs between surrogate pairs and U+E000 to
 * U+FFFF.
 */
function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
