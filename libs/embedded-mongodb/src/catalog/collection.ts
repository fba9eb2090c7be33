import type { BsonDocument } from '../bson/types.js';
import type { Index } from '../index/index.js';
import { recordKey, recordOf, tableRange } from '../storage/layout.js';
import type { Store, StoreCursor } from '../storage/store.js';

/** A document with the number that it is stored under. Numbers increase in the order of insertion. */
export interface StoredDocument {
  record: number;
  bytes: Buffer;
}

/** Counters of a collection. */
export interface Counters {
  documents: number;
  /** Unit: bytes of BSON. */
  size: number;
}

/**
 * The documents of one collection and their index entries, kept consistent. Methods that change something are
 * called inside `Store.write`, and check everything before they write anything.
 */
export class Collection {
  private nextRecord: number | undefined;
  /** Set while the counters differ from the stored ones. */
  dirty = false;
  /** Set when the collection is dropped, which cursors and waiting writes notice. */
  dropped = false;
  /** The documents changed since each {@link Collection.watch} began. */
  private readonly watches = new Set<Set<number>>();

  constructor(
    private readonly store: Store,
    /** `database.collection` */
    public namespace: string,
    readonly uuid: Buffer,
    readonly options: BsonDocument,
    readonly table: number,
    readonly indexes: Index[],
    readonly counters: Counters,
  ) {}

  /** Resets all mutable state to that of the store; the indexes have to be added again. */
  reset(namespace: string, counters: Counters): void {
    this.namespace = namespace;
    Object.assign(this.counters, counters);
    this.indexes.length = 0;
    this.nextRecord = undefined;
    this.dirty = false;
    this.dropped = false;
  }

  get(record: number): Buffer | undefined {
    return this.store.get(recordKey(this.table, record));
  }

  /** Walks over the documents in the order of insertion. */
  walk(reverse = false): StoreCursor {
    return this.store.walk(tableRange(this.table), reverse);
  }

  /** Walks over the documents that exist now, without those that are inserted later. */
  walkPresent(): StoreCursor {
    const high = recordKey(this.table, this.takeRecord());
    return this.store.walk({ ...tableRange(this.table), high }, false, false);
  }

  /**
   * Collects the records of the documents that are changed from now on, until {@link Collection.unwatch}: a
   * change moves a document within the indexes.
   */
  watch(): Set<number> {
    const changed = new Set<number>();
    this.watches.add(changed);
    return changed;
  }

  unwatch(changed: Set<number>): void {
    this.watches.delete(changed);
  }

  index(name: string): Index | undefined {
    return this.indexes.find((each) => each.name === name);
  }

  /**
   * @param bytes A validated document with an `_id`.
   * @throws CommandError DuplicateKey (11000).
   */
  insert(bytes: Buffer): number {
    const record = this.takeRecord();
    const admitted = this.admit(bytes, record);
    for (const [index, entries] of admitted) index.insert(entries, record);
    this.store.put(recordKey(this.table, record), bytes);
    this.count(1, bytes.length);
    this.nextRecord = record + 1;
    return record;
  }

  /** @throws CommandError DuplicateKey (11000). */
  replace({ record, bytes }: StoredDocument, after: Buffer): void {
    const admitted = this.admit(after, record);
    for (const [index, entries] of admitted) index.replace(bytes, entries, record);
    this.store.put(recordKey(this.table, record), after);
    this.count(0, after.length - bytes.length);
    for (const changed of this.watches) changed.add(record);
  }

  remove({ record, bytes }: StoredDocument): void {
    for (const index of this.indexes) index.remove(bytes, record);
    this.store.remove(recordKey(this.table, record));
    this.count(-1, -bytes.length);
  }

  /**
   * The index entries of a document, all of them before any is written, so that a rejection by one index
   * leaves no trace in others.
   */
  private admit(bytes: Buffer, record: number): [Index, Buffer[]][] {
    return this.indexes.map((index) => [index, index.admit(bytes, record, this.namespace)]);
  }

  private count(documents: number, size: number): void {
    this.counters.documents += documents;
    this.counters.size += size;
    this.dirty = true;
  }

  private takeRecord(): number {
    if (this.nextRecord === undefined) {
      const last = this.store.last(tableRange(this.table));
      this.nextRecord = last ? recordOf(last.key) + 1 : 1;
    }
    return this.nextRecord;
  }
}
