import type { Schema, SchemaType } from 'mongoose';
import { Types } from 'mongoose';
import type { Order, SortKey } from '../definition/order.js';
import type { Stored } from '../options/records.js';
import type { StoreFilter } from '../store/crud.store.js';

/** A place in an order: that of a record, whether or not the record still exists. */
export interface Position {
  /** Values of the order's keys, as stored; null if the record has none. */
  readonly values: readonly unknown[];
  readonly id: Types.ObjectId;
  /** Whether a record exactly at this place also counts as behind it. */
  readonly inclusive: boolean;
}

/** The place of a record in an order. */
export function positionOf(record: Stored<object>, { keys }: Order): Position {
  return { values: keys.map(({ path }) => valueAt(record, path)), id: record._id, inclusive: false };
}

/** The same place in the reverse order, where exactly the other records are behind it. */
export function complementOf(position: Position): Position {
  return { ...position, inclusive: !position.inclusive };
}

/**
 * Predicates of the records behind a position, to be read one after another. For the keys `a, b`, behind (x,
 * y, id) come those with `a = x, b = y, _id > id`, then `a = x, b > y`, then `a > x`. Each is one range of
 * the order's index, so every page costs the same. With a single `$or` of them, databases read more.
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

/** Records without a value come before all others, but comparisons do not match them. */
function behindValue({ path, descending }: SortKey, value: unknown, schema: Schema): object[] {
  if (descending) return value === null ? [] : [{ $lt: value }, { $eq: null }];
  return [value === null ? anyValue(schema.path(path) as SchemaType | undefined) : { $gt: value }];
}

/** The least value of each type, by the name of the Mongoose type. */
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

/** Uses a bound rather than "not null", which not every database can look up in an index. */
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
