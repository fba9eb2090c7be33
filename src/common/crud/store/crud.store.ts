import type { Types } from 'mongoose';
import type { Database } from '../../database/index.js';
import type { Stored } from '../options/records.js';
import type { OutboxEntry } from './outbox.js';
import type { ReferenceHolds, StoreReferences } from './reference-holds.js';

/** Values that a record must have, and MongoDB operators; `null` means that the field is absent. */
export type StoreFilter = Readonly<Record<string, unknown>>;

/** A stage of an aggregation, such as `{ $group: { _id: '$month', total: { $sum: '$amount' } } }`. */
export type AggregationStage = Readonly<Record<`$${string}`, unknown>>;

/** Adds a condition to a filter, next to its members. */
export function allOf(filter: StoreFilter, condition: StoreFilter): StoreFilter {
  return { ...filter, $and: [...((filter.$and as StoreFilter[] | undefined) ?? []), condition] };
}

/** Changes to one record, by dotted path: the fields to set and the fields to remove. */
export interface StoreChange {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
}

/** How the matching records are read. */
export interface StoreRead {
  /** Paths and directions. @default newest first */
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  /** Paths to read besides `_id` and the revision. @default everything that the schema does not hide */
  readonly fields?: readonly string[];
  /**
   * Predicates of ranges of the order, read one after another until the limit is reached. For a page, all of
   * them together share the time limit of one operation.
   *
   * @default the whole order
   */
  readonly ranges?: readonly StoreFilter[];
  /** Unit: records. @default 0 */
  readonly skip?: number;
  /** Unit: records. @default every record, as a stream without a time limit */
  readonly limit?: number;
}

/** The record before and after an update, from one atomic operation; the same object if nothing has changed. */
export interface Updated<Entity> {
  /** The record that was replaced. */
  readonly previous: Stored<Entity>;
  readonly record: Stored<Entity>;
}

/**
 * The only way from a resource to its database: a few verbs, each one command. Code that batches or caches
 * commands belongs behind this interface, so that nothing above it changes. Records lack the fields that the
 * schema hides.
 */
export interface CrudStore<Entity> {
  /** Whether middleware of your own, of the schema or of a global plugin, may complete a record before it is stored. */
  readonly hasMiddleware: boolean;
  /**
   * The same store for the operations of a transaction.
   *
   * @param references checked within the same transaction
   */
  within(database: Database, references: StoreReferences): CrudStore<Entity>;
  /** Keep records from being deleted while writes that refer to them are carried out. */
  readonly holds: Pick<ReferenceHolds, 'take' | 'unheld'>;
  /**
   * Stores a new record and returns it as stored.
   *
   * @param entry stored with the record if subscribers are told of it
   * @param onQueued called when records that are stored from then on come after this one
   * @throws ValidationError if the schema rejects it, DuplicateValueError if a unique value is taken
   */
  insert(record: object, entry?: OutboxEntry, onQueued?: () => void): Promise<Stored<Entity>>;
  /** The record that matches, if there is one. */
  findOne(filter: StoreFilter, fields?: readonly string[]): Promise<Stored<Entity> | undefined>;
  /**
   * The matching records among those with the given identifiers, in no particular order.
   *
   * @param fields as in {@link StoreRead.fields}
   */
  findByIds(
    ids: readonly Types.ObjectId[],
    predicate?: StoreFilter,
    fields?: readonly string[],
  ): Promise<readonly Stored<Entity>[]>;
  /** The matching records, read as they are consumed. Closes its cursor when the reader stops early. */
  find(filter: StoreFilter, read?: StoreRead): AsyncIterable<Stored<Entity>>;
  /** The number of records that match. */
  count(filter: StoreFilter): Promise<number>;
  /**
   * Carries out a read once for all callers who ask for the same before it begins. They share the result and
   * must not change it.
   *
   * @param filter of the records to read
   * @param how everything else that the read depends on
   */
  share<Result>(filter: StoreFilter, how: object, read: () => Promise<Result>): Promise<Result>;
  /** What the stages of an aggregation make of the records that match. */
  aggregate<Result extends object>(
    filter: StoreFilter,
    stages: readonly AggregationStage[],
  ): Promise<Result[]>;
  /** The approximate number of all records, at no cost. */
  estimatedCount(): Promise<number>;
  /** Whether a record matches. */
  exists(filter: StoreFilter): Promise<boolean>;
  /**
   * Changes the record that matches, and its revision; undefined if none matches.
   *
   * @param entry stored with the record if subscribers are told of it; then values that the record has already
   * change nothing
   * @throws ValidationError if the schema rejects the change, DuplicateValueError if a unique value is taken
   */
  update(filter: StoreFilter, change: StoreChange, entry?: OutboxEntry): Promise<Updated<Entity> | undefined>;
  /**
   * Does the same and returns the new revision alone. Concurrent updates share commands.
   *
   * @param onQueued called when it waits for its command
   */
  updateUnread(filter: StoreFilter, change: StoreChange, onQueued?: () => void): Promise<number | undefined>;
  /**
   * Removes the record that matches and returns it; undefined if none matches. What the references of other
   * resources promise is up to the verb `del`.
   *
   * @param entry stored before the record is removed if subscribers are told of it
   * @throws WriteConflictError if other writes were faster each time
   */
  delete(filter: StoreFilter, entry?: OutboxEntry): Promise<Stored<Entity> | undefined>;
}

/** Members of a record, by their names. */
export type Fields = Record<string, unknown>;

/** The record that results from an update of another one: `$set`, then `$unset` and `$inc`, ignoring `$setOnInsert`. */
export function applyChange<Entity>(
  previous: Stored<Entity>,
  { $set = {}, $unset = {}, $inc = {} }: Record<string, object>,
): Stored<Entity> {
  const record = { ...previous } as Fields;
  for (const [path, value] of Object.entries($set)) setAt(record, path.split('.'), value);
  for (const path of Object.keys($unset)) setAt(record, path.split('.'), undefined);
  for (const [path, by] of Object.entries($inc)) record[path] = Number(record[path] ?? 0) + Number(by);
  return record as Stored<Entity>;
}

/** The value at a dotted path. */
export function valueAt(record: unknown, path: string): unknown {
  return path.split('.').reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], record);
}

/** Sets a nested value. The objects on the way are copied, so that the previous record is not changed. */
function setAt(target: Fields, [head = '', ...tail]: readonly string[], value: unknown): void {
  if (tail.length > 0) {
    const inner = { ...(target[head] as Fields | undefined) };
    setAt(inner, tail, value);
    target[head] = inner;
  } else if (value === undefined) {
    Reflect.deleteProperty(target, head);
  } else {
    target[head] = value;
  }
}
