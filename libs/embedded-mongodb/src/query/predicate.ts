import type { BsonValue } from '../bson/types.js';

/** A range of values in their total order. */
export interface Interval {
  low: BsonValue;
  lowInclusive: boolean;
  high: BsonValue;
  highInclusive: boolean;
}

/**
 * A filter's requirement for one path, used to choose an index.
 *
 * Among the values that an index over `path` stores for a matching document, at least one is inside an
 * interval. The reverse is not true: each candidate still has to pass the filter's `matches`. Two different
 * elements of an array may satisfy two predicates over one path, so their intervals may be intersected only
 * if the path holds no array.
 */
export interface Predicate {
  path: string;
  /** In ascending order, without overlap. */
  intervals: Interval[];
  /** Whether a document without the path can match, which rules out a sparse index. */
  includesMissing: boolean;
}
