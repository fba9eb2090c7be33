import type { mongo, Query } from 'mongoose';

/** The part of a query that its declaration leaves out: what it sends its commands to. */
interface WithCollection {
  mongooseCollection: mongo.Collection;
}

/**
 * Has a query of `countDocuments` send the command `count`, in all else as Mongoose does it. The aggregation that the driver sends can
 * run on a plan that MongoDB 7.0 keeps for good: one made before the first list came into an index looks there for one value
 * alone, so that records with two words of a search would not be counted until the server's next start.
 *
 * `count` is exact on a sharded cluster, too, as long as there is a condition.
 * https://www.mongodb.com/docs/manual/reference/method/db.collection.count/#sharded-clusters
 */
export function counted<ResultType, DocType>(query: Query<ResultType, DocType>): Query<ResultType, DocType> {
  const sending = query as unknown as WithCollection;
  const collection = sending.mongooseCollection;
  sending.mongooseCollection = Object.create(collection, {
    countDocuments: {
      // The driver advises against it for what it does without a condition.
      value: (filter: mongo.Filter<mongo.Document>, options: mongo.CountOptions) =>
        collection.count(filter, options),
    },
  }) as mongo.Collection;
  return query;
}
