import type { Stored } from './crud-options.interface.js';

/** Values that a record must have; `null` means that the field is absent. */
export type StoreFilter = Readonly<Record<string, unknown>>;

/** Changes to one record: the fields to set and the fields to remove. */
export interface StoreChange {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
}

/** Which part of the matching records to read, newest first. Unit: records. */
export interface StoreWindow {
  readonly skip: number;
  readonly limit: number;
}

/**
 * The one way from a resource to its database: few verbs, each one command. What gathers or caches commands stands
 * behind it, and nothing above it changes.
 */
export interface CrudStore<Entity> {
  /** Stores a new record and gives it back as stored. */
  insert(record: object): Promise<Stored<Entity>>;
  /** The record that matches, if there is one. */
  findOne(filter: StoreFilter): Promise<Stored<Entity> | undefined>;
  /** The matching records, newest first, read as they are consumed; ends its cursor when the reader stops early. */
  find(filter: StoreFilter, window?: StoreWindow): AsyncIterable<Stored<Entity>>;
  /** How many records match. */
  count(filter: StoreFilter): Promise<number>;
  /** Changes the record that matches, and its revision; false where none does. */
  update(filter: StoreFilter, change: StoreChange): Promise<boolean>;
  /** Removes the record that matches; false where none does. */
  delete(filter: StoreFilter): Promise<boolean>;
}
