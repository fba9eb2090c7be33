import { Binary, BSONRegExp, Code, Double, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { compareValues, typeRank } from '../bson/compare.js';
import { isNaNValue } from '../bson/numbers.js';
import { type BsonType, BsonUndefined, type BsonTypeName, type BsonValue, typeName } from '../bson/types.js';
import type { Interval } from './predicate.js';

const zeroId = new ObjectId(new Uint8Array(12));
const lastId = new ObjectId(new Uint8Array(12).fill(0xff));
const emptyBinary = new Binary(new Uint8Array(0), 0);

/** The smallest value of each type, and the first one beyond the type or its greatest one. */
const brackets: Partial<Record<keyof typeof BsonType, Interval>> = {
  null: { low: BsonUndefined.value, lowInclusive: true, high: null, highInclusive: true },
  double: { low: new Double(NaN), lowInclusive: false, high: new Double(Infinity), highInclusive: true },
  string: { low: '', lowInclusive: true, high: new Map(), highInclusive: false },
  object: { low: new Map(), lowInclusive: true, high: [], highInclusive: false },
  binData: { low: emptyBinary, lowInclusive: true, high: zeroId, highInclusive: false },
  objectId: { low: zeroId, lowInclusive: true, high: lastId, highInclusive: true },
  bool: { low: false, lowInclusive: true, high: true, highInclusive: true },
  // A stored date may be outside the range of JavaScript's, so the adjacent types are the bounds.
  date: { low: true, lowInclusive: false, high: new Timestamp(Long.UZERO), highInclusive: false },
  timestamp: {
    low: new Timestamp(Long.ZERO),
    lowInclusive: true,
    high: new Timestamp(Long.MAX_UNSIGNED_VALUE),
    highInclusive: true,
  },
  regex: {
    low: new BSONRegExp('', ''),
    lowInclusive: true,
    high: new Code(''),
    highInclusive: false,
  },
};

/** Every value that an index can hold. */
export const everything: Interval = {
  low: new MinKey(),
  lowInclusive: true,
  high: new MaxKey(),
  highInclusive: true,
};

/** All strings, and all regular expressions. */
export const textIntervals: Interval[] = [bracketOf('string'), bracketOf('regex')].flatMap(
  (each) => each ?? [],
);

/**
 * A single value. An index over an array holds its elements, so an array is also looked up by its first one.
 */
export function pointIntervals(value: BsonValue): Interval[] {
  if (value === null) return [brackets.null as Interval];
  if (!Array.isArray(value)) return [point(value)];
  return inOrder([point(value), point(value.length === 0 ? BsonUndefined.value : (value[0] as BsonValue))]);
}

/** Points for each of the values. */
export function setIntervals(values: readonly BsonValue[]): Interval[] {
  return inOrder(values.flatMap(pointIntervals));
}

/**
 * The values of the same type that are on one side of a bound.
 *
 * @returns `undefined` for bounds that an index cannot use: arrays, and values across types.
 */
export function rangeIntervals(
  operator: '$gt' | '$gte' | '$lt' | '$lte',
  bound: BsonValue,
): Interval[] | undefined {
  const bracket = bracketOf(typeName(bound));
  if (!bracket) return undefined;
  // Null is neither below nor above anything either.
  if (bound === null) return operator === '$gte' || operator === '$lte' ? [bracket] : [];
  // NaN is neither below nor above anything, but equals itself.
  if (isNaNValue(bound)) return operator === '$gte' || operator === '$lte' ? [point(bound)] : [];
  if (operator === '$gt' || operator === '$gte') {
    return [{ ...bracket, low: bound, lowInclusive: operator === '$gte' }];
  }
  return [{ ...bracket, high: bound, highInclusive: operator === '$lte' }];
}

/**
 * The strings that start with a prefix, and all regular expressions, since one of them may equal the one in
 * the filter.
 */
export function prefixIntervals(prefix: string): Interval[] {
  const last = prefix.charCodeAt(prefix.length - 1);
  // Beyond ASCII, the next character is not always the next code unit.
  if (prefix === '' || last >= 0x7f) return textIntervals;
  const next = prefix.slice(0, -1) + String.fromCharCode(last + 1);
  return [
    { low: prefix, lowInclusive: true, high: next, highInclusive: false },
    ...textIntervals.filter((each) => each.low instanceof BSONRegExp),
  ];
}

function bracketOf(type: BsonTypeName): Interval | undefined {
  return brackets[type === 'int' || type === 'long' || type === 'decimal' ? 'double' : type];
}

function point(value: BsonValue): Interval {
  return { low: value, lowInclusive: true, high: value, highInclusive: true };
}

/** Sorts intervals and removes repeated points. */
function inOrder(intervals: Interval[]): Interval[] {
  const sorted = [...intervals].sort(
    (a, b) => compareValues(a.low, b.low) || typeRank(b.high) - typeRank(a.high),
  );
  return sorted.filter((each, index) => {
    const previous = sorted[index - 1];
    return !previous || compareValues(previous.high, each.low) < 0;
  });
}
