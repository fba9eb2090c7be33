import type { Stored } from '../options/records.js';

export type Fields = Record<string, unknown>;

/** Values that a record must have, and MongoDB operators; `null` means that the field is absent. */
export type StoreFilter = Readonly<Record<string, unknown>>;

/** A stage of an aggregation, such as `{ $group: { _id: '$month', total: { $sum: '$amount' } } }`. */
export type AggregationStage = Readonly<Record<`$${string}`, unknown>>;

/** Hidden member of a record that holds the words of its searched fields. Only the store knows it. */
export const WORDS = '_words';

/** Hidden member of a record that holds the events of its writes until they are settled. Only the store knows it. */
export const OUTBOX = '_outbox';

/** Hidden member of a record that others refer to: how many commands have held it, and what holds it now. */
export const HOLDS = '_holds';

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
   * Predicates of ranges of the order, read one after another until the limit is reached, within the time limit of one
   * operation. @default the whole order
   */
  readonly ranges?: readonly StoreFilter[];
  /** Unit: records. @default 0 */
  readonly skip?: number;
  /** Unit: records. @default every record, as a stream without a time limit */
  readonly limit?: number;
}

/** The record before and after an update, from one atomic operation; the same object if nothing has changed. */
export interface Updated<Entity> {
  readonly previous: Stored<Entity>;
  readonly record: Stored<Entity>;
}

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

export function valueAt(record: unknown, path: string): unknown {
  return path.split('.').reduce((at, name) => (at as Fields | undefined)?.[name], record);
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
