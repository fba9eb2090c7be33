import {
  Binary,
  BSONRegExp,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';

/** Few and small values, so that documents and queries meet often. */
const numbers = [
  new Int32(0),
  new Int32(1),
  new Int32(2),
  new Int32(-1),
  new Double(1),
  new Double(1.5),
  new Double(0.1),
  new Double(-0),
  new Long(1),
  new Long(2),
  Long.fromString('9007199254740993'),
  new Double(9007199254740992),
  Decimal128.fromString('1'),
  Decimal128.fromString('1.50'),
  Decimal128.fromString('0.1'),
];
const rareNumbers = [
  new Double(NaN),
  new Double(Infinity),
  new Double(-Infinity),
  new Int32(2147483647),
  new Int32(-2147483648),
  Long.MAX_VALUE,
  Long.MIN_VALUE,
  new Double(1e300),
  new Double(5e-324),
  Decimal128.fromString('NaN'),
  Decimal128.fromString('Infinity'),
  Decimal128.fromString('1E-6176'),
  Decimal128.fromString('9999999999999999999999999999999999'),
  Decimal128.fromString('-0'),
];
const strings = ['', 'a', 'b', 'ab', 'abc', 'B', 'é', 'a.b', '1', '\uffee', '😀'];
const others = [
  null,
  true,
  false,
  new Date(0),
  new Date(1600000000123),
  new Date(-1),
  new ObjectId('0123456789abcdef01234567'),
  new ObjectId('ffffffffffffffffffffffff'),
  new Binary(Uint8Array.of(1, 2), 0),
  new Binary(Uint8Array.of(3), 0),
  new Binary(new Uint8Array(16).fill(7), 4),
  new Timestamp({ t: 1, i: 2 }),
  new BSONRegExp('a', ''),
  new BSONRegExp('b', 'i'),
  new MinKey(),
  new MaxKey(),
];

export const fieldNames = ['a', 'b', 'c', 'd'];

/** A value without anything inside. */
export function scalar(random) {
  return random.weighted([
    [10, () => random.pick(numbers)],
    [1, () => random.pick(rareNumbers)],
    [5, () => random.pick(strings)],
    [2, () => null],
    [4, () => random.pick(others)],
  ]);
}

export function number(random) {
  return random.chance(0.1) ? random.pick(rareNumbers) : random.pick(numbers);
}

export function string(random) {
  return random.pick(strings);
}

/** A whole number as a client may send it. */
export function integer(random, least, most) {
  const value = least + random.below(most - least + 1);
  return random.weighted([
    [8, () => new Int32(value)],
    [1, () => new Double(value)],
    [1, () => Long.fromNumber(value)],
  ]);
}

/** Any value; `depth` is how many levels may lie inside. */
export function value(random, depth = 2) {
  if (depth === 0) return scalar(random);
  return random.weighted([
    [6, () => scalar(random)],
    [2, () => random.list(0, 3, () => value(random, depth - 1))],
    [2, () => object(random, depth - 1)],
  ]);
}

/** A document without an `_id`, to be a value or the start of one. */
export function object(random, depth) {
  const entries = random.list(0, 3, () => [fieldName(random), value(random, depth)]);
  return Object.fromEntries(entries);
}

/** A document of a collection. */
export function document(random, id) {
  const entries = random.list(1, 4, () => [random.pick(fieldNames), value(random, 3)]);
  return { _id: id, ...Object.fromEntries(entries) };
}

/** A path that often leads somewhere, through documents and arrays. */
export function path(random, { positions = true } = {}) {
  const names = [random.pick(fieldNames)];
  while (names.length < 3 && random.chance(0.35)) {
    names.push(positions && random.chance(0.15) ? String(random.below(3)) : fieldName(random));
  }
  return random.chance(0.03) ? '_id' : names.join('.');
}

function fieldName(random) {
  return random.chance(0.02) ? String(random.below(2)) : random.pick(fieldNames);
}
