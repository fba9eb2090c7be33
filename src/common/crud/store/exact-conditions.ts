import type { Query } from 'mongoose';
import type { StoreFilter } from './crud.store.js';

const exact = new WeakSet<StoreFilter>();

/** Marks a condition whose values have the store's types and must reach the database unchanged. */
export function exactly(condition: StoreFilter): StoreFilter {
  exact.add(condition);
  return condition;
}

/** Whether a condition must reach the database unchanged. */
export function isExact(condition: StoreFilter): boolean {
  return exact.has(condition);
}

/**
 * Gives a query its filter. Mongoose casts it, except for exact conditions: casting would also run the
 * schema's setters, such as `lowercase`, and find other records than the client asked for.
 */
// Mongoose's own type parameters for a query with any result.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function filtered<Q extends Query<any, any>>(query: Q, filter: StoreFilter): Q {
  const { $and = [], ...rest } = filter as { $and?: readonly StoreFilter[] };
  const kept = $and.filter(isExact);
  const others = $and.filter((condition) => !isExact(condition));
  query.setQuery({ ...rest, ...(others.length > 0 && { $and: others }) });
  if (kept.length === 0) return query;
  query.cast(query.model);
  const { $and: cast = [], ...equalities } = query.getFilter() as { $and?: readonly StoreFilter[] };
  query.setQuery({ ...equalities, $and: [...cast, ...kept] });
  query.cast = () => query.getFilter();
  return query;
}
