import type { IndexOptions, Schema } from 'mongoose';
import { archivedOnly, liveOnly } from './archive.js';
import type { CrudDefinition } from './crud-definition.js';
import { NEWEST_FIRST, type Order, sortOf, sortsBy } from './order.js';

type Indexed = Pick<CrudDefinition, 'visible' | 'isolation' | 'archive'> & {
  /** The orders to serve. Each index also serves the reverse order. */
  readonly orders: readonly Order[];
};

/** The sets of fields that lists and counts of live records are filtered by. */
export function scopesOf({ visible, isolation, archive }: Omit<Indexed, 'orders'>): string[][] {
  const live = [...Object.keys(visible), ...(archive ? [archive.field] : [])];
  const scopes = [isolation.get, isolation.count].map((fields) => [...live, ...Object.keys(fields)]);
  return [...new Map(scopes.map((fields) => [fields.toSorted().join(), fields])).values()];
}

/** Adds the indexes that serve the reads of a resource to its schema. */
export function addIndexes(schema: Schema, { visible, isolation, archive, orders }: Indexed): void {
  const fixed = Object.keys(visible);
  const live = archive ? [...fixed, archive.field] : fixed;
  const liveOrders = orders.filter((order) => !sortsBy(order, archive?.field));
  addReadIndexes(live, isolation, liveOrders, (keys) => schema.index(keys));
  if (!archive) return;
  const partial = { partialFilterExpression: archivedOnly(archive.field) };
  addReadIndexes(fixed, archive.isolation, orders, (keys, order) => {
    schema.index(keys);
    // An index of archived records only, since they may be few among many.
    if (!sortsBy(order, archive.field)) schema.index({ ...keys, [archive.field]: 1 }, partial);
  });
  freeUniqueValues(schema, archive.field);
}

/**
 * Serves every order of the list, its pages, and the count, which may be scoped by other fields than the
 * list. Equality fields come before sorted ones.
 */
function addReadIndexes(
  fixed: readonly string[],
  { get, count }: Readonly<Record<'get' | 'count', object>>,
  orders: readonly Order[],
  add: (keys: Record<string, 1 | -1>, order: Order) => void,
): void {
  const [listed, counted] = [get, count].map((fields) => [...fixed, ...Object.keys(fields)]);
  const addOne = (equalities: readonly string[] = [], order: Order) =>
    add({ ...Object.fromEntries(equalities.map((field) => [field, 1] as const)), ...sortOf(order) }, order);
  for (const order of orders) addOne(listed, order);
  if (listed?.toSorted().join() !== counted?.toSorted().join()) addOne(counted, NEWEST_FIRST);
}

/** Makes unique values unique among live records only, so that an archived record's value is free. */
function freeUniqueValues(schema: Schema, field: string): void {
  const indexes = schema.indexes();
  if (!indexes.some(([, { unique }]) => unique)) return;
  schema.clearIndexes();
  for (const type of Object.values(schema.paths)) {
    type.index(false);
    Object.assign(type.options, { excludeIndexes: true });
  }
  for (const [keys, options] of indexes) {
    schema.index(keys, options.unique ? amongLive(keys, options, field) : options);
  }
}

/** A partial index cannot also be sparse: "has one of the keys" becomes one of its conditions. */
function amongLive(
  keys: object,
  { sparse, partialFilterExpression, ...options }: IndexOptions,
  field: string,
): IndexOptions {
  const present = Object.keys(keys).map((key) => ({ [key]: { $exists: true } }));
  return {
    ...options,
    partialFilterExpression: {
      ...liveOnly(field),
      ...(sparse && { $or: present }),
      ...(partialFilterExpression as object | undefined),
    },
  };
}
