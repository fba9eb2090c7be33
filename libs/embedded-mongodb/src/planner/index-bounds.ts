import type { Index } from '../index/index.js';
import { after, afterFitted, boundFits, fitBound, keyRange } from '../storage/layout.js';
import type { KeyRange } from '../storage/store.js';
import { type ByteInterval, intersect, isPoint, type PathBounds } from './bounds.js';

/** Maximum number of ranges in one scan; beyond that, later components of the index stay unbounded. */
const maxRanges = 1_000;

/** The part of an index that a scan covers. */
export interface IndexBounds {
  ranges: KeyRange[];
  /** The intervals of each bounded component of the index; later components are unbounded. */
  components: ByteInterval[][];
  /** Number of leading components that are bounded to single values. */
  points: number;
  /** For each range, how many bytes the components up to each one take, as long as they are single values. */
  ends: number[][];
  /** Whether a key is in the ranges if and only if it meets all given bounds. */
  exact: boolean;
}

/** The smallest part of an index that holds every document within the bounds. */
export function indexBounds(index: Index, bounds: readonly PathBounds[]): IndexBounds {
  const components: ByteInterval[][] = [];
  let used = 0;
  let count = 1;
  for (const [position, { path }] of index.definition.fields.entries()) {
    const own = bounds.filter((each) => each.path === path);
    const isArray = index.traits.arrays[position] ?? false;
    const intervals = componentIntervals(own, isArray);
    if (!intervals || count * intervals.length > maxRanges) break;
    components.push(intervals);
    used += isArray ? 0 : own.length;
    count *= intervals.length;
    if (!intervals.every(isPoint)) break;
  }
  const { ranges, ends, overlapped } = toRanges(index, components);
  return {
    ranges,
    ends,
    components,
    // Merged ranges hold more than one value, so they do not imply an order.
    points: overlapped ? 0 : components.filter((intervals) => intervals.every(isPoint)).length,
    exact: used === bounds.length && !index.traits.cut && components.every((each) => each.every(fits)),
  };
}

/**
 * Two elements of an array may each meet one of two requirements, so only one of them bounds the scan over
 * arrays: the one with the fewest values.
 */
function componentIntervals(bounds: readonly PathBounds[], isArray: boolean): ByteInterval[] | undefined {
  const [first, ...others] = [...bounds].sort((a, b) => weight(a) - weight(b));
  if (!first || isArray) return first?.intervals;
  return others.reduce((result, { intervals }) => intersect(result, intervals), first.intervals);
}

function weight({ intervals }: PathBounds): number {
  return intervals.every(isPoint) ? intervals.length : maxRanges + intervals.length;
}

function fits({ low, high }: ByteInterval): boolean {
  return boundFits(low) && boundFits(high);
}

interface Ranges extends Pick<IndexBounds, 'ranges' | 'ends'> {
  /** Whether ranges overlapped and were merged. */
  overlapped: boolean;
}

function toRanges(index: Index, components: readonly ByteInterval[][]): Ranges {
  const empty = Buffer.alloc(0);
  let parts: Part[] = [{ low: empty, high: after(empty), prefix: empty, ends: [] }];
  components.forEach((intervals, position) => {
    const descending = index.definition.fields[position]?.descending ?? false;
    const ordered = descending ? intervals.map(invert).reverse() : intervals;
    parts = parts.flatMap((part) => ordered.map((interval) => extend(part, interval)));
  });
  const apart = withoutOverlap(parts);
  return {
    ranges: apart.map(({ low, high }) => keyRange(index.table, low, high)),
    ends: apart.map(({ ends }) => ends),
    overlapped: apart.length < parts.length,
  };
}

/** Cut bounds may overlap, in order; each key must be visited once. */
function withoutOverlap(parts: readonly Part[]): Part[] {
  const apart: Part[] = [];
  for (const part of parts) {
    const last = apart.at(-1);
    if (!last || part.low.compare(last.high) >= 0) apart.push(part);
    else if (part.high.compare(last.high) > 0) last.high = part.high;
  }
  return apart;
}

/** A range under construction. */
interface Part {
  low: Buffer;
  high: Buffer;
  /** The single values so far. */
  prefix: Buffer;
  ends: number[];
}

function extend({ prefix, ends }: Part, interval: ByteInterval): Part {
  const low = Buffer.concat([prefix, interval.low]);
  const high = Buffer.concat([prefix, interval.high]);
  const lowBound = boundFits(low) ? (interval.lowInclusive ? low : after(low)) : fitBound(low);
  const highBound = boundFits(high) ? (interval.highInclusive ? after(high) : high) : afterFitted(high);
  const single = isPoint(interval);
  return {
    low: lowBound,
    high: highBound,
    prefix: single ? low : prefix,
    ends: single ? [...ends, low.length] : ends,
  };
}

function invert({ low, lowInclusive, high, highInclusive }: ByteInterval): ByteInterval {
  const flip = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0xff));
  return { low: flip(high), lowInclusive: highInclusive, high: flip(low), highInclusive: lowInclusive };
}
