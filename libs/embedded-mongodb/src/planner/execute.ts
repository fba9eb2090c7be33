import { decodeDocument } from '../bson/decode.js';
import { textScore } from '../index/text.js';
import type { Filter } from '../query/filter.js';
import type { Collection } from '../storage/collection.js';
import { encodeKey } from '../storage/key.js';
import { keyRange, recordOf } from '../storage/layout.js';
import type { KeyRange, Store, StoreCursor } from '../storage/store.js';
import type { Access, IndexScan, Plan } from './plan.js';

/** A document that a query found. */
export interface Match {
  record: number;
  bytes: Buffer;
  /** How well it answers a `$text` search. */
  score?: number;
}

/** Work done so far, for `explain`. */
export interface Work {
  keysExamined: number;
  docsExamined: number;
}

/** A place in an index, or a document's record. */
interface Found {
  record: number;
  /** The document, when the access read it anyway. */
  bytes?: Buffer;
}

/** What a generator yields after work that found nothing: a chance to pause. */
const nothing = undefined;

/** Steps without a result after which a chance to pause is given. */
const patience = 64;

/**
 * Finds the documents that a plan's access leads to and the filter accepts, in the order of the access.
 *
 * Runs in steps: a step yields a match, or `undefined` as a chance to pause. {@link Scan.release} must be called before a pause,
 * and the walk then goes on where it was.
 */
export class Scan {
  readonly work: Work = { keysExamined: 0, docsExamined: 0 };
  private readonly open = new Set<StoreCursor>();

  constructor(
    private readonly store: Store,
    private readonly collection: Collection | undefined,
    private readonly plan: Plan,
    private readonly filter: Filter,
  ) {}

  /** Lets go of the store's snapshot. */
  release(): void {
    for (const cursor of this.open) cursor.release();
  }

  *matches(): Generator<Match | undefined> {
    if (!this.collection) return;
    const { access } = this.plan;
    let idle = 0;
    for (const found of this.access(access)) {
      const match = found && this.examine(found, access);
      if (match) {
        idle = 0;
        yield match;
      } else if (++idle % patience === 0) {
        yield nothing;
      }
    }
  }

  /** Index entries that lie in exact bounds, counted without their documents. */
  count({ bounds }: IndexScan): number {
    const count = bounds.ranges.reduce((sum, range) => sum + this.store.count(range), 0);
    this.work.keysExamined += count;
    return count;
  }

  /** Reads a document again and checks it again, after a pause in which it may have changed. */
  recheck(record: number): Buffer | undefined {
    const bytes = this.collection?.get(record);
    return bytes && (this.plan.exact || this.accepts(bytes)) ? bytes : undefined;
  }

  private accepts(bytes: Buffer): boolean {
    return this.filter.matches(decodeDocument(bytes));
  }

  private examine({ record, bytes }: Found, access: Access): Match | undefined {
    const document = bytes ?? this.collection?.get(record);
    if (!document) return undefined;
    this.work.docsExamined++;
    if (this.plan.exact) return { record, bytes: document };
    const decoded = decodeDocument(document);
    if (!this.filter.matches(decoded)) return undefined;
    if (access.kind !== 'text') return { record, bytes: document };
    const { text } = access.index.definition;
    const score = text && textScore(decoded, access.terms, text);
    return score === undefined ? undefined : { record, bytes: document, score };
  }

  private *access(access: Access): Generator<Found | undefined> {
    switch (access.kind) {
      case 'eof':
        return;
      case 'idhack': {
        const owner = this.store.get(access.key);
        if (!owner) return;
        this.work.keysExamined++;
        yield { record: recordOf(owner) };
        return;
      }
      case 'collscan':
        yield* this.scanCollection(access.reverse);
        return;
      case 'text': {
        const { index, terms } = access;
        const ranges = terms.words.map((word) => {
          const key = encodeKey(word);
          return keyRange(index.table, key, Buffer.concat([key, Buffer.from([0xff])]));
        });
        yield* distinct(this.walkRanges(ranges, false, false));
        return;
      }
      case 'or':
        yield* distinct(this.scanAll(access.branches));
        return;
      case 'ixscan':
        yield* this.scanIndex(access);
    }
  }

  private *scanCollection(reverse: boolean): Generator<Found> {
    const cursor = this.track((this.collection as Collection).walk(reverse));
    for (let entry = cursor.next(); entry; entry = cursor.next()) {
      yield { record: recordOf(entry.key), bytes: entry.value };
    }
    this.open.delete(cursor);
  }

  private *scanAll(scans: readonly IndexScan[]): Generator<Found | undefined> {
    for (const scan of scans) yield* this.scanIndex(scan);
  }

  private scanIndex(scan: IndexScan): Iterable<Found | undefined> {
    const { index, bounds, reverse, mergeFrom } = scan;
    const ranges = reverse ? [...bounds.ranges].reverse() : bounds.ranges;
    const { unique } = index.definition;
    const found =
      mergeFrom === undefined
        ? this.walkRanges(ranges, reverse, unique)
        : this.mergeRanges(scan, ranges, reverse ? [...bounds.ends].reverse() : bounds.ends);
    return index.multikey ? distinct(found) : found;
  }

  private *walkRanges(ranges: readonly KeyRange[], reverse: boolean, unique: boolean): Generator<Found> {
    for (const range of ranges) {
      const cursor = this.track(this.store.walk(range, reverse, unique));
      for (let entry = cursor.next(); entry; entry = cursor.next()) {
        this.work.keysExamined++;
        yield { record: recordOf(unique ? entry.value : entry.key) };
      }
      this.open.delete(cursor);
    }
  }

  /** Walks all ranges at once, always taking the entry that comes first by what follows the merged components. */
  private *mergeRanges(
    scan: IndexScan,
    ranges: readonly KeyRange[],
    ends: readonly number[][],
  ): Generator<Found> {
    const { unique } = scan.index.definition;
    const tableBytes = 4;
    const heads = ranges.flatMap((range, i) => {
      const cursor = this.track(this.store.walk(range, scan.reverse, unique));
      const from = tableBytes + (ends[i]?.[(scan.mergeFrom as number) - 1] ?? 0);
      const entry = cursor.next();
      return entry ? { cursor, from, entry, rest: entry.key.subarray(from) } : [];
    });
    while (heads.length > 0) {
      const first = heads.reduce((a, b) => (a.rest.compare(b.rest) <= 0 === !scan.reverse ? a : b));
      this.work.keysExamined++;
      yield { record: recordOf(unique ? first.entry.value : first.entry.key) };
      const entry = first.cursor.next();
      if (entry) {
        first.entry = entry;
        first.rest = entry.key.subarray(first.from);
      } else {
        heads.splice(heads.indexOf(first), 1);
      }
    }
  }

  private track(cursor: StoreCursor): StoreCursor {
    this.open.add(cursor);
    return cursor;
  }
}

/** Each record once: an array gives its document several entries. */
function* distinct(entries: Iterable<Found | undefined>): Generator<Found | undefined> {
  const seen = new Set<number>();
  for (const found of entries) {
    if (!found || seen.has(found.record)) {
      yield nothing;
      continue;
    }
    seen.add(found.record);
    yield found;
  }
}
