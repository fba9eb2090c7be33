import { randomBytes } from 'node:crypto';
import { Binary, Double } from 'bson';
import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonArray, type BsonDocument, type BsonNumber, type BsonValue, toBson } from '../bson/types.js';
import { idIndex, type IndexDefinition, storedIndex } from '../index/definition.js';
import { Index, type IndexTraits } from '../index/index.js';
import { Collection } from './collection.js';
import { keyRange, tablePrefix, tableRange } from '../storage/layout.js';
import type { Store } from '../storage/store.js';

/** The catalog's own table, and the kinds of keys in it. */
const catalogTable = 0;
const keyOf = {
  collection: (namespace: string) => Buffer.from(`c${namespace}`),
  counters: (table: number) => Buffer.concat([Buffer.from('n'), tablePrefix(table)]),
  dropped: (table: number) => Buffer.concat([Buffer.from('x'), tablePrefix(table)]),
  nextTable: () => Buffer.from('t'),
};

/** Number of a dropped table's keys to remove in one transaction, so that other writers get their turn. */
const purgeBatch = 5_000;

/**
 * The collections and indexes with their options and counters. Read once at the start without looking at the
 * documents, so that the start takes no longer with a million of them.
 */
export class Catalog {
  private collections = new Map<string, Collection>();
  /** Dropped by jobs that may still be rolled back. */
  private readonly justDropped = new Set<Collection>();
  private nextTable = 1;
  private purging: Promise<void> | undefined;

  constructor(private readonly store: Store) {
    store.beforeCommit = () => this.writeCounters();
    store.afterAbort = () => this.load();
    this.load();
    void this.purge();
  }

  /** The collection of a namespace (`database.collection`). */
  find(namespace: string): Collection | undefined {
    return this.collections.get(namespace);
  }

  /** The collections of a database, or of all. */
  list(database?: string): Collection[] {
    const all = [...this.collections.values()];
    return database === undefined ? all : all.filter(({ namespace }) => namespace.startsWith(`${database}.`));
  }

  /** Creates a collection; inside `Store.write`. */
  create(namespace: string, options: BsonDocument = new Map()): Collection {
    const collection = new Collection(this.store, namespace, uuid(), options, this.takeTable(), [], {
      documents: 0,
      size: 0,
    });
    this.collections.set(namespace, collection);
    this.addIndex(collection, idIndex()).ready = true;
    collection.dirty = true;
    this.save(collection);
    return collection;
  }

  /** Drops a collection; inside `Store.write`. Its documents are removed in the background. */
  drop(collection: Collection): void {
    collection.dropped = true;
    collection.dirty = false;
    this.collections.delete(collection.namespace);
    this.justDropped.add(collection);
    setImmediate(() => this.justDropped.delete(collection));
    this.remove(keyOf.collection(collection.namespace));
    this.remove(keyOf.counters(collection.table));
    for (const table of [collection.table, ...collection.indexes.map((index) => index.table)])
      this.discard(table);
  }

  /** Renames a collection; inside `Store.write`. */
  rename(collection: Collection, namespace: string): void {
    this.remove(keyOf.collection(collection.namespace));
    this.collections.delete(collection.namespace);
    collection.namespace = namespace;
    this.collections.set(namespace, collection);
    this.save(collection);
  }

  /**
   * Adds an empty index; inside `Store.write`. From now on, writes keep it up to date. Once it also contains
   * the existing documents, {@link Catalog.publish} lets queries use it.
   */
  addIndex(collection: Collection, definition: IndexDefinition): Index {
    const traits: IndexTraits = { arrays: definition.fields.map(() => false), cut: false };
    const index = new Index(this.store, definition, this.takeTable(), traits, () => this.save(collection));
    collection.indexes.push(index);
    this.save(collection);
    return index;
  }

  /** Lets queries use an index; inside `Store.write`. */
  publish(collection: Collection, index: Index): void {
    index.ready = true;
    this.save(collection);
  }

  /** Drops an index; inside `Store.write`. */
  dropIndex(collection: Collection, index: Index): void {
    const position = collection.indexes.indexOf(index);
    if (position < 0) return;
    collection.indexes.splice(position, 1);
    this.discard(index.table);
    this.save(collection);
  }

  /**
   * Reads the catalog. Known objects are kept, since running commands continue with them after a rollback;
   * only their contents are reset to those of the store.
   */
  private load(): void {
    const known = new Map(
      [...this.collections.values(), ...this.justDropped].map((each) => [each.table, each]),
    );
    this.collections = new Map();
    this.nextTable = this.read(keyOf.nextTable())?.readUInt32BE(0) ?? 1;
    const cursor = this.store.walk(keyRange(catalogTable, Buffer.from('c'), Buffer.from('d')));
    for (let entry = cursor.next(); entry; entry = cursor.next()) {
      const stored = decodeDocument(entry.value);
      const table = integer(stored.get('table'));
      const collection = known.get(table) ?? this.collectionOf(table, stored);
      known.delete(table);
      this.restore(collection, entry.key.toString('utf8', 5), stored);
    }
    cursor.release();
    for (const gone of known.values()) gone.dropped = true;
  }

  private collectionOf(table: number, stored: BsonDocument): Collection {
    const uuid = Buffer.from((stored.get('uuid') as Binary).buffer);
    const options = stored.get('options') as BsonDocument;
    return new Collection(this.store, '', uuid, options, table, [], { documents: 0, size: 0 });
  }

  private restore(collection: Collection, namespace: string, stored: BsonDocument): void {
    const counters = this.read(keyOf.counters(collection.table));
    const known = new Map(collection.indexes.map((index) => [index.table, index]));
    collection.reset(namespace, {
      documents: counters?.readDoubleBE(0) ?? 0,
      size: counters?.readDoubleBE(8) ?? 0,
    });
    this.collections.set(namespace, collection);
    for (const entry of stored.get('indexes') as BsonDocument[]) {
      const table = integer(entry.get('table'));
      const index = known.get(table) ?? this.indexOf(collection, table, entry);
      Object.assign(index.traits, traitsOf(entry));
      index.ready = entry.get('ready') === true;
      // An index whose build was interrupted by the end of the process is dropped.
      if (index.ready || known.has(table)) collection.indexes.push(index);
      else this.store.write(() => this.discard(table)).catch(ignore);
    }
  }

  private indexOf(collection: Collection, table: number, entry: BsonDocument): Index {
    const given = entry.get('given') as BsonDocument;
    const definition = given.get('name') === '_id_' ? idIndex() : storedIndex(given);
    return new Index(this.store, definition, table, traitsOf(entry), () => this.save(collection));
  }

  private save(collection: Collection): void {
    if (collection.dropped) return;
    const { table, uuid, options, indexes } = collection;
    const entry = toBson({
      table: new Double(table),
      uuid: new Binary(uuid, Binary.SUBTYPE_UUID),
      options,
      indexes: indexes.map(describeIndex),
    });
    this.put(keyOf.collection(collection.namespace), encodeDocument(entry));
  }

  private writeCounters(): void {
    for (const collection of this.collections.values()) {
      if (!collection.dirty) continue;
      collection.dirty = false;
      const value = Buffer.alloc(16);
      value.writeDoubleBE(collection.counters.documents, 0);
      value.writeDoubleBE(collection.counters.size, 8);
      this.put(keyOf.counters(collection.table), value);
    }
  }

  private takeTable(): number {
    const table = this.nextTable++;
    this.put(keyOf.nextTable(), tablePrefix(this.nextTable));
    return table;
  }

  /** Remembers that a table is to be emptied, and starts to do so. */
  private discard(table: number): void {
    this.put(keyOf.dropped(table), Buffer.alloc(0));
    setImmediate(() => void this.purge());
  }

  private purge(): Promise<void> {
    this.purging ??= this.purgeAll()
      .catch(ignore)
      .finally(() => (this.purging = undefined));
    return this.purging;
  }

  private async purgeAll(): Promise<void> {
    while (this.droppedTable()) await this.store.write(() => this.purgeSome());
  }

  private droppedTable(): Buffer | undefined {
    const cursor = this.store.walk(keyRange(catalogTable, Buffer.from('x'), Buffer.from('y')), false, false);
    const entry = cursor.next();
    cursor.release();
    return entry?.key;
  }

  private purgeSome(): void {
    const dropped = this.droppedTable();
    if (!dropped) return;
    const cursor = this.store.walk(tableRange(dropped.readUInt32BE(5)), false, false);
    const keys: Buffer[] = [];
    for (let next = cursor.next(); next && keys.length < purgeBatch; next = cursor.next())
      keys.push(next.key);
    cursor.release();
    for (const key of keys) this.store.remove(key);
    if (keys.length < purgeBatch) this.store.remove(dropped);
  }

  private read(key: Buffer): Buffer | undefined {
    return this.store.get(Buffer.concat([tablePrefix(catalogTable), key]));
  }

  private put(key: Buffer, value: Uint8Array): void {
    this.store.put(Buffer.concat([tablePrefix(catalogTable), key]), value);
  }

  private remove(key: Buffer): void {
    this.store.remove(Buffer.concat([tablePrefix(catalogTable), key]));
  }
}

function describeIndex({ table, definition, traits, ready }: Index): BsonDocument {
  return toBson({ table: new Double(table), given: definition.given, ...traits, ready });
}

function traitsOf(entry: BsonDocument): IndexTraits {
  return {
    arrays: (entry.get('arrays') as BsonArray).map((each) => each === true),
    cut: entry.get('cut') === true,
  };
}

/** Ignores errors of work that can wait until the next start or the next drop. */
function ignore(): void {}

function integer(value: BsonValue | undefined): number {
  return toDouble(value as BsonNumber);
}

/** A random UUID, version 4. */
function uuid(): Buffer {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes;
}
