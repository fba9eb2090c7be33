import { BsonUndefined } from '../bson/types.js';
import type { Filter, Interval, Predicate } from '../query/filter.js';
import { encodeKey } from '../bson/key.js';

/** An interval in sortable bytes. */
export interface ByteInterval {
  low: Buffer;
  lowInclusive: boolean;
  high: Buffer;
  highInclusive: boolean;
}

/** A filter's requirement for one path, in sortable bytes. */
export interface PathBounds {
  path: string;
  /** In ascending order, without overlap. */
  intervals: ByteInterval[];
  /** Whether a document without the path can match. */
  includesMissing: boolean;
}

/** Whether an interval holds only one value. */
export function isPoint({ low, high, lowInclusive, highInclusive }: ByteInterval): boolean {
  return lowInclusive && highInclusive && low.equals(high);
}

/**
 * All bounds of a filter, including those of `$or`: branches that all bound one path bound it together.
 */
export function filterBounds(filter: Filter): PathBounds[] {
  const own = filter.predicates.map(toBounds);
  return [...own, ...filter.alternatives.flatMap(unionOfBranches)];
}

/** The intervals in which a single value can meet both requirements. */
export function intersect(a: readonly ByteInterval[], b: readonly ByteInterval[]): ByteInterval[] {
  return a.flatMap((left) => b.flatMap((right) => overlap(left, right) ?? []));
}

function toBounds({ path, intervals, includesMissing }: Predicate): PathBounds {
  return { path, intervals: intervals.flatMap(toBytes), includesMissing };
}

/** The nulls are two adjacent values. As points, they leave the rest of a compound index sorted. */
function toBytes(interval: Interval): ByteInterval[] {
  const { low, high } = interval;
  if (low instanceof BsonUndefined && high === null) return [point(encodeKey(low)), point(encodeKey(high))];
  return [{ ...interval, low: encodeKey(low), high: encodeKey(high) }];
}

function point(key: Buffer): ByteInterval {
  return { low: key, lowInclusive: true, high: key, highInclusive: true };
}

function unionOfBranches(branches: readonly Filter[]): PathBounds[] {
  const [first, ...others] = branches.map(filterBounds);
  return (first ?? []).flatMap((bounds) => {
    const matching = others.map((each) => each.find(({ path }) => path === bounds.path));
    if (matching.includes(undefined)) return [];
    const all = [bounds, ...(matching as PathBounds[])];
    return {
      path: bounds.path,
      intervals: merge(all.flatMap(({ intervals }) => intervals)),
      includesMissing: all.some(({ includesMissing }) => includesMissing),
    };
  });
}

function merge(intervals: ByteInterval[]): ByteInterval[] {
  const sorted = [...intervals].sort(
    (a, b) => a.low.compare(b.low) || Number(b.lowInclusive) - Number(a.lowInclusive),
  );
  const result: ByteInterval[] = [];
  for (const next of sorted) {
    const last = result.at(-1);
    if (!last || !touches(last, next)) result.push({ ...next });
    else if (compareHighs(next, last) > 0)
      Object.assign(last, { high: next.high, highInclusive: next.highInclusive });
  }
  return result;
}

function touches(left: ByteInterval, right: ByteInterval): boolean {
  const order = right.low.compare(left.high);
  return order < 0 || (order === 0 && (left.highInclusive || right.lowInclusive));
}

function compareHighs(a: ByteInterval, b: ByteInterval): number {
  return a.high.compare(b.high) || Number(a.highInclusive) - Number(b.highInclusive);
}

function overlap(a: ByteInterval, b: ByteInterval): ByteInterval | undefined {
  const lows = a.low.compare(b.low) || Number(b.lowInclusive) - Number(a.lowInclusive);
  const { low, lowInclusive } = lows >= 0 ? a : b;
  const { high, highInclusive } = compareHighs(a, b) <= 0 ? a : b;
  const order = low.compare(high);
  if (order > 0 || (order === 0 && !(lowInclusive && highInclusive))) return undefined;
  return { low, lowInclusive, high, highInclusive };
}
