import { decodeDocument } from '../bson/decode.js';
import { failure } from '../errors.js';
import type { Index } from '../index/index.js';
import type { Filter } from '../query/filter.js';
import type { Collection, StoredDocument } from '../catalog/collection.js';
import { recordOf, tableBytes } from '../storage/layout.js';
import type { Entry, KeyRange, Store, StoreCursor } from '../storage/store.js';
import type { Access, IndexScan, Plan } from './plan.js';

/** Work done so far, for `explain`. */
export interface Work {
  keysExamined: number;
  docsExamined: number;
}

/** A position in an index, or a document's record. */
interface Found {
  record: number;
  /** The document, if the access has read it anyway. */
  bytes?: Buffer;
}

/** One of several ranges that are walked together, with its next entry. */
interface Head {
  cursor: StoreCursor;
  entry: Entry;
  /** Number of leading bytes of a key that do not affect the order. */
  from: number;
}

/** Yielded by a generator after work without a result. */
const chanceToPause = undefined;

/** Number of steps without a result before an opportunity to pause. */
const patience = 64;

/**
 * Finds the documents that a plan's access leads to and the filter accepts, in the order of the access.
 *
 * Runs in steps: a step yields a match, or `undefined` as an opportunity to pause. Call {@link Scan.release}
 * before a pause and {@link Scan.resume} after it; the walk then continues from its position. It returns what
 * is stored at that moment.
 */
export class Scan {
  readonly work: Work = { keysExamined: 0, docsExamined: 0 };
  private readonly open = new Set<StoreCursor>();
  private readonly namespace: string | undefined;
  /** Number of pauses: data read before the last one may have changed. */
  private pauses = 0;
  private ended = false;

  constructor(
    private readonly store: Store,
    private readonly collection: Collection | undefined,
    private readonly plan: Plan,
    private readonly filter: Filter,
  ) {
    this.namespace = collection?.namespace;
  }

  /** Releases the store's cursors for a pause. */
  release(): void {
    this.pauses++;
    for (const cursor of this.open) cursor.release();
  }

  /** @throws CommandError as {@link Scan.checkAlive} does, unless everything has been read */
  resume(): void {
    if (!this.ended) this.checkAlive();
  }

  /** Releases everything: nothing more will be read. */
  end(): void {
    this.ended = true;
    this.release();
  }

  /**
   * @throws CommandError QueryPlanKilled (175) if the collection or an index of the plan has changed or was
   * dropped; InterruptedAtShutdown (11600) if the store is closed
   */
  checkAlive(): void {
    const { collection } = this;
    this.store.checkOpen();
    if (!collection) return;
    if (collection.dropped) throw failure('QueryPlanKilled', `collection ${this.namespace} dropped`);
    if (collection.namespace !== this.namespace) {
      throw failure(
        'QueryPlanKilled',
        `collection renamed from '${this.namespace}' to '${collection.namespace}'`,
      );
    }
    const gone = indexesOf(this.plan.access).find((index) => !collection.indexes.includes(index));
    if (gone) throw failure('QueryPlanKilled', `query plan killed :: index '${gone.name}' dropped`);
  }

  *matches(): Generator<StoredDocument | undefined> {
    if (!this.collection) return;
    const { access } = this.plan;
    let idle = 0;
    for (const found of this.access(access)) {
      const match = found && this.examine(found);
      if (match) {
        idle = 0;
        yield match;
      } else if (++idle % patience === 0) {
        yield chanceToPause;
      }
    }
  }

  /** Counts index entries within exact bounds, without reading documents. */
  count({ bounds }: IndexScan): number {
    const count = bounds.ranges.reduce((sum, range) => sum + this.store.count(range), 0);
    this.work.keysExamined += count;
    return count;
  }

  /**
   * Whether the found entries fully answer the filter; since the plan was made, an index may have met its
   * first array.
   */
  private get exact(): boolean {
    const { access, exact } = this.plan;
    return exact && !(access.kind === 'ixscan' && access.index.multikey);
  }

  private examine({ record, bytes }: Found): StoredDocument | undefined {
    const document = bytes ?? this.collection?.get(record);
    if (!document) return undefined;
    this.work.docsExamined++;
    if (this.exact) return { record, bytes: document };
    return this.filter.matches(decodeDocument(document)) ? { record, bytes: document } : undefined;
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
      case 'or':
        yield* distinct(this.scanAll(access.branches), () => true);
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
    return distinct(found, () => index.multikey);
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

  /**
   * Walks all ranges together, always taking the entry that comes first by the part after the merged
   * components.
   */
  private *mergeRanges(
    scan: IndexScan,
    ranges: readonly KeyRange[],
    ends: readonly number[][],
  ): Generator<Found> {
    const { unique } = scan.index.definition;
    let heads = ranges.flatMap((range, i): Head[] => {
      const cursor = this.track(this.store.walk(range, scan.reverse, unique));
      const entry = cursor.next();
      return entry
        ? [{ cursor, entry, from: tableBytes + (ends[i]?.[(scan.mergeFrom as number) - 1] ?? 0) }]
        : [];
    });
    const rest = ({ entry, from }: Head): Buffer => entry.key.subarray(from);
    for (let { pauses } = this; heads.length > 0;) {
      if (pauses !== this.pauses)
        heads = heads.filter((head) => this.isStored(head.entry, unique) || advance(head));
      pauses = this.pauses;
      if (heads.length === 0) return;
      const first = heads.reduce((a, b) => (rest(a).compare(rest(b)) <= 0 === !scan.reverse ? a : b));
      this.work.keysExamined++;
      yield { record: recordOf(unique ? first.entry.value : first.entry.key) };
      if (!advance(first)) heads.splice(heads.indexOf(first), 1);
    }
  }

  private isStored({ key, value }: Entry, unique: boolean): boolean {
    const stored = this.store.get(key);
    return stored !== undefined && (!unique || stored.equals(value));
  }

  private track(cursor: StoreCursor): StoreCursor {
    this.open.add(cursor);
    return cursor;
  }
}

/** Moves to the next entry, if there is one. */
function advance(head: Head): boolean {
  const entry = head.cursor.next();
  if (entry) head.entry = entry;
  return entry !== undefined;
}

function indexesOf(access: Access): Index[] {
  if (access.kind === 'or') return access.branches.map(({ index }) => index);
  return 'index' in access ? [access.index] : [];
}

/** Returns each record once if requested: an array gives its document several entries. */
function* distinct(
  entries: Iterable<Found | undefined>,
  wanted: () => boolean,
): Generator<Found | undefined> {
  const seen = new Set<number>();
  for (const found of entries) {
    if (!wanted()) {
      yield found;
      continue;
    }
    if (!found || seen.has(found.record)) {
      yield chanceToPause;
      continue;
    }
    seen.add(found.record);
    yield found;
  }
}
