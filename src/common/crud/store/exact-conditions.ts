import type { mongo, Query } from 'mongoose';
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

/** The part of a query that its type omits: the collection that it sends its commands to. */
interface WithCollection {
  mongooseCollection: mongo.Collection;
}

/**
 * Makes a query of `countDocuments` send the command `count`; Mongoose does everything else as usual. The
 * aggregation that the driver would send can run on a plan that MongoDB 7.0 caches for good: one made before
 * the first list entered an index looks up a single value there, so records with two words of a search would
 * not be counted until the server restarts.
 *
 * `count` is also exact on a sharded cluster, as long as there is a condition.
 * https://www.mongodb.com/docs/manual/reference/method/db.collection.count/#sharded-clusters
 */
export function counted<ResultType, DocType>(query: Query<ResultType, DocType>): Query<ResultType, DocType> {
  const sending = query as unknown as WithCollection;
  const collection = sending.mongooseCollection;
  sending.mongooseCollection = Object.create(collection, {
    countDocuments: {
      // Deprecated in the driver only because of its behaviour without a condition.
      value: (filter: mongo.Filter<mongo.Document>, options: mongo.CountOptions) =>
        collection.count(filter, options),
    },
  }) as mongo.Collection;
  return query;
}
