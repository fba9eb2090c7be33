import type { Schema, SchemaType } from 'mongoose';
import { Types } from 'mongoose';
import type { Order, SortKey } from '../definition/order.js';
import type { Stored } from '../options/records.js';
import type { StoreFilter } from '../store/crud.store.js';

/** A place in an order: that of a record, whether or not the record is still there. */
export interface Position {
  /** Of the order's keys, as the store holds them; null where the record has none. */
  readonly values: readonly unknown[];
  readonly id: Types.ObjectId;
  /** Whether a record at the very place is behind the position as well. */
  readonly inclusive: boolean;
}

/** The place of a record in an order. */
export function positionOf(record: Stored<object>, { keys }: Order): Position {
  return { values: keys.map(({ path }) => valueAt(record, path)), id: record._id, inclusive: false };
}

/** The same place, as it is in the reverse order: the one has behind it what the other has not. */
export function complementOf(position: Position): Position {
  return { ...position, inclusive: !position.inclusive };
}

/**
 * Predicates of the records behind a position, to be read one after another: of the keys `a, b` behind (x, y, id) those with
 * `a = x, b = y, _id > id`, then `a = x, b > y`, then `a > x`. Each is one stretch of the order's index, so that a page costs
 * the same wherever it is; of one `$or` of them databases read more.
 */
export function rangesBehind(
  { keys }: Order,
  { values, id, inclusive }: Position,
  schema: Schema,
): StoreFilter[] {
  const same = (count: number) =>
    Object.fromEntries(keys.slice(0, count).map(({ path }, i) => [path, { $eq: values[i] }]));
  const operator = `${keys.at(-1)?.descending ? '$lt' : '$gt'}${inclusive ? 'e' : ''}`;
  const ranges: StoreFilter[] = [{ ...same(keys.length), _id: { [operator]: id } }];
  for (const [i, key] of [...keys.entries()].reverse())
    for (const behind of behindValue(key, values[i], schema)) ranges.push({ ...same(i), [key.path]: behind });
  return ranges;
}

/** Records without a value come before all others; comparisons leave them out. */
function behindValue({ path, descending }: SortKey, value: unknown, schema: Schema): object[] {
  if (descending) return value === null ? [] : [{ $lt: value }, { $eq: null }];
  return [value === null ? anyValue(schema.path(path) as SchemaType | undefined) : { $gt: value }];
}

/** The least value of each type, by the name of Mongoose's type. */
const LEAST: Readonly<Partial<Record<string, unknown>>> = {
  String: '',
  Number: -Infinity,
  Double: -Infinity,
  Int32: -(2 ** 31),
  BigInt: -(2n ** 63n),
  Decimal128: Types.Decimal128.fromString('-Infinity'),
  Date: new Date(-8.64e15),
  Boolean: false,
  ObjectId: new Types.ObjectId('0'.repeat(24)),
};

/** As a bound rather than as "not null", which not every database finds by an index. */
function anyValue(type: SchemaType | undefined): object {
  const least = LEAST[type?.instance ?? ''];
  return least === undefined ? { $ne: null } : { $gte: least };
}

function valueAt(record: object, path: string): unknown {
  const value = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null)?.[name], record);
  return value ?? null;
}
