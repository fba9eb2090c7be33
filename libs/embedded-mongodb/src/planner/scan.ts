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

/** A place in an index, or a document's record. */
interface Found {
  record: number;
  /** The document, when the access read it anyway. */
  bytes?: Buffer;
}

/** One of several ranges that are walked at once, with the entry that it comes next with. */
interface Head {
  cursor: StoreCursor;
  entry: Entry;
  /** How many bytes of a key do not count for the order. */
  from: number;
}

/** What a generator yields after work without a result. */
const chanceToPause = undefined;

/** Steps without a result after which a chance to pause is given. */
const patience = 64;

/**
 * Finds the documents that a plan's access leads to and the filter accepts, in the order of the access.
 *
 * Runs in steps: a step yields a match, or `undefined` as a chance to pause. {@link Scan.release} must be called before a pause and
 * {@link Scan.resume} behind it; the walk then goes on where it was. What it finds is what is stored at that moment.
 */
export class Scan {
  readonly work: Work = { keysExamined: 0, docsExamined: 0 };
  private readonly open = new Set<StoreCursor>();
  private readonly namespace: string | undefined;
  /** Pauses so far: what was read before the last one may have changed. */
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

  /** Lets go of the store's cursors for a pause. */
  release(): void {
    this.pauses++;
    for (const cursor of this.open) cursor.release();
  }

  /** @throws CommandError as {@link Scan.checkAlive} does, unless all has been read */
  resume(): void {
    if (!this.ended) this.checkAlive();
  }

  /** Lets go of everything: nothing more is to be read. */
  end(): void {
    this.ended = true;
    this.release();
  }

  /**
   * @throws CommandError QueryPlanKilled (175) where the collection or an index of the plan is no longer what it was;
   *   InterruptedAtShutdown (11600) where the store is closed
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

  /** Index entries that lie in exact bounds, counted without their documents. */
  count({ bounds }: IndexScan): number {
    const count = bounds.ranges.reduce((sum, range) => sum + this.store.count(range), 0);
    this.work.keysExamined += count;
    return count;
  }

  /** Whether the entries found say all of the filter; an index may have met its first array since the plan was made. */
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

  /** Walks all ranges at once, always taking the entry that comes first by what follows the merged components. */
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

/** Goes to the next entry, if there is one. */
function advance(head: Head): boolean {
  const entry = head.cursor.next();
  if (entry) head.entry = entry;
  return entry !== undefined;
}

function indexesOf(access: Access): Index[] {
  if (access.kind === 'or') return access.branches.map(({ index }) => index);
  return 'index' in access ? [access.index] : [];
}

/** Each record once where that is wanted: an array gives its document several entries. */
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
