import type { Types } from 'mongoose';
import type { Stored } from '../options/records.js';
import type { OutboxEntry } from './outbox-entry.js';

/** Values that a record must have, and MongoDB's operators; `null` means that the field is absent. */
export type StoreFilter = Readonly<Record<string, unknown>>;

/** Changes to one record, by dotted paths: the fields to set and the fields to remove. */
export interface StoreChange {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
}

/** How the matching records are read. */
export interface StoreRead {
  /** Paths and directions. @default newest first */
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  /** Paths to read besides `_id` and the revision. @default all that the schema does not hide */
  readonly fields?: readonly string[];
  /**
   * Predicates of stretches of the order, to be read one after another until the limit is reached. For a page: all of them
   * together have the time of one operation.
   *
   * @default all of the order
   */
  readonly ranges?: readonly StoreFilter[];
  /** Unit: records. @default 0 */
  readonly skip?: number;
  /** Unit: records. @default every record, as a stream without a time limit */
  readonly limit?: number;
}

/** Both sides of an update, of one atomic operation. */
export interface Updated<Entity> {
  /** The record that was replaced. */
  readonly previous: Stored<Entity>;
  readonly record: Stored<Entity>;
}

/**
 * The one way from a resource to its database: few verbs, each one command. Anything that gathers or caches commands
 * stands behind it, and nothing above it changes. Records come without the fields that the schema hides.
 */
export interface CrudStore<Entity> {
  /**
   * Stores a new record and gives it back as stored.
   *
   * @param entry what is kept of it if the resource has an outbox
   * @throws ValidationError if the schema refuses it, DuplicateValueError if a unique value is taken
   */
  insert(record: object, entry?: OutboxEntry): Promise<Stored<Entity>>;
  /** The record that matches, if there is one. */
  findOne(filter: StoreFilter, fields?: readonly string[]): Promise<Stored<Entity> | undefined>;
  /** Those of the records with some identifiers that match, in no order. @param fields as in {@link StoreRead.fields} */
  findByIds(
    ids: readonly Types.ObjectId[],
    predicate?: StoreFilter,
    fields?: readonly string[],
  ): Promise<readonly Stored<Entity>[]>;
  /** The matching records, read as they are consumed; ends its cursor when the reader stops early. */
  find(filter: StoreFilter, read?: StoreRead): AsyncIterable<Stored<Entity>>;
  /** How many records match. */
  count(filter: StoreFilter): Promise<number>;
  /**
   * Carries out a read once for all who ask for the same before it begins. They share what it gives, so that nobody may change it.
   *
   * @param filter of the records that are read
   * @param how everything else that the read depends on
   */
  share<Result>(filter: StoreFilter, how: object, read: () => Promise<Result>): Promise<Result>;
  /** About how many records there are in all, at no cost. */
  estimatedCount(): Promise<number>;
  /** Whether a record matches. */
  exists(filter: StoreFilter): Promise<boolean>;
  /**
   * Changes the record that matches, and its revision; undefined if none does.
   *
   * @param entry what is kept of it if the resource has an outbox
   * @throws ValidationError if the schema refuses the change, DuplicateValueError if a unique value is taken
   */
  update(filter: StoreFilter, change: StoreChange, entry?: OutboxEntry): Promise<Updated<Entity> | undefined>;
  /** Does the same without reading the record, and says whether one matched: those that arrive meanwhile share a command. */
  updateUnread(filter: StoreFilter, change: StoreChange, entry?: OutboxEntry): Promise<boolean>;
  /** Removes the record that matches and gives it back; undefined if none does. */
  delete(filter: StoreFilter): Promise<Stored<Entity> | undefined>;
}
