import { decodeDocument, decodeValue } from '../bson/decode.js';
import { describe } from '../bson/describe.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';
import { CommandError, failure } from '../errors.js';
import { fitKey, recordOf, recordValue, sharedKey, uniqueKey } from '../storage/layout.js';
import type { Store } from '../storage/store.js';
import type { IndexDefinition } from './definition.js';
import { KeyExtractor } from './keys.js';

/** What an index has learned about its documents. It only ever grows, and is stored in the catalog. */
export interface IndexTraits {
  /** For each component, whether some document has an array on its path. */
  arrays: boolean[];
  /** Whether some key was cut to LMDB's limit, so that the order of the index is not reliable. */
  cut: boolean;
}

/** One index of a collection, in its own table of the store. */
export class Index {
  /** Whether the index contains all documents, so that queries may use it. */
  ready = false;
  /**
   * Records that could not be admitted while the index is being built, and have no entries in it. As in
   * MongoDB, this is not an error yet: they must be admitted when the build ends.
   */
  readonly deferred = new Set<number>();
  private readonly extractor: KeyExtractor;

  constructor(
    private readonly store: Store,
    readonly definition: IndexDefinition,
    readonly table: number,
    readonly traits: IndexTraits,
    private readonly onTraits: () => void,
  ) {
    this.extractor = new KeyExtractor(definition.fields, definition.sparse);
  }

  get name(): string {
    return this.definition.name;
  }

  /** Whether some document has more than one key. */
  get multikey(): boolean {
    return this.traits.arrays.includes(true);
  }

  /** The store's keys of a document's entries. */
  entries(bytes: Buffer, record: number): Buffer[] {
    return this.keys(bytes).map((key) => this.entry(key, record));
  }

  /**
   * The store's keys of the entries of a document that is about to be stored. While an index is being built,
   * it defers a document that it would have to reject.
   *
   * @throws CommandError as {@link Index.admitAtOnce} does, if the index is ready
   */
  admit(bytes: Buffer, record: number, namespace: string): Buffer[] {
    if (this.ready) return this.admitAtOnce(bytes, record, namespace);
    return this.unlessRefused(
      () => this.admitAtOnce(bytes, record, namespace),
      () => this.deferred.add(record),
    );
  }

  /**
   * The store's keys of the entries of a document.
   *
   * @throws CommandError DuplicateKey (11000) if the index is unique and another document has one of the
   * keys; another code if the document cannot have keys.
   */
  admitAtOnce(bytes: Buffer, record: number, namespace: string): Buffer[] {
    const keys = this.keys(bytes);
    if (this.definition.unique) this.checkUnique(bytes, record, keys, namespace);
    return keys.map((key) => this.entry(key, record));
  }

  /** Adds the entries of an admitted document. */
  insert(entries: readonly Buffer[], record: number): void {
    for (const key of entries) this.store.put(key, this.valueOf(record));
  }

  remove(bytes: Buffer, record: number): void {
    for (const key of this.stored(bytes, record)) this.store.remove(key);
  }

  /** Changes the entries that differ between a stored document and the one that was admitted in its place. */
  replace(before: Buffer, entries: readonly Buffer[], record: number): void {
    const old = new Map(this.stored(before, record).map((key) => [key.toString('latin1'), key]));
    for (const key of entries) {
      if (!old.delete(key.toString('latin1'))) this.store.put(key, this.valueOf(record));
    }
    for (const key of old.values()) this.store.remove(key);
  }

  /**
   * The entries of a stored document. While the index is being built, the document may have none yet, and its
   * keys may belong to another document.
   */
  private stored(bytes: Buffer, record: number): Buffer[] {
    if (this.ready) return this.entries(bytes, record);
    const { unique } = this.definition;
    return this.unlessRefused(() => this.entries(bytes, record)).filter((key) => {
      const value = this.store.get(key);
      return value !== undefined && (!unique || recordOf(value) === record);
    });
  }

  private unlessRefused(entries: () => Buffer[], onRefusal?: () => void): Buffer[] {
    try {
      return entries();
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      onRefusal?.();
      return [];
    }
  }

  private checkUnique(bytes: Buffer, record: number, keys: readonly Buffer[], namespace: string): void {
    // Of several duplicates, the first one in the index's order is reported, as in MongoDB.
    const inOrder = [...keys.entries()].sort(([, a], [, b]) => a.compare(b));
    for (const [position, key] of inOrder) {
      const owner = this.store.get(uniqueKey(this.table, key));
      if (owner && recordOf(owner) !== record) throw this.duplicate(bytes, position, namespace);
    }
  }

  /** The value of an entry: for a unique index the record, which other indexes have in the key. */
  private valueOf(record: number): Buffer {
    return this.definition.unique ? recordValue(record) : noValue;
  }

  private entry(key: Buffer, record: number): Buffer {
    return this.definition.unique ? uniqueKey(this.table, key) : sharedKey(this.table, key, record);
  }

  /** The fitted keys of a document; none if it does not belong in the index. */
  private keys(bytes: Buffer): Buffer[] {
    const { partial } = this.definition;
    if (partial && !partial.matches(decodeDocument(bytes))) return [];
    const { keys, arrays } = this.extractor.extract(bytes);
    this.learnArrays(arrays);
    return this.fit(keys);
  }

  private fit(keys: Buffer[]): Buffer[] {
    return keys.map((key) => {
      const { bytes, cut } = fitKey(key);
      if (cut && !this.traits.cut) {
        this.traits.cut = true;
        this.onTraits();
      }
      return bytes;
    });
  }

  private learnArrays(arrays: boolean[]): void {
    for (const [i, isArray] of arrays.entries()) {
      if (!isArray || this.traits.arrays[i]) continue;
      this.traits.arrays[i] = true;
      this.onTraits();
    }
  }

  private duplicate(bytes: Buffer, position: number, namespace: string): Error {
    const values = this.extractor.values(bytes, position).map((element) => decodeValue(bytes, element));
    const names = this.definition.fields.map(({ path }) => path);
    const shown = names.map((name, i) => `${name}: ${describe(values[i] as BsonValue)}`).join(', ');
    return failure(
      'DuplicateKey',
      `E11000 duplicate key error collection: ${namespace} index: ${this.name} dup key: { ${shown} }`,
      {
        keyPattern: this.definition.key,
        keyValue: new Map(names.map((name, i) => [name, values[i] as BsonValue])) satisfies BsonDocument,
      },
    );
  }
}

const noValue = Buffer.alloc(0);
