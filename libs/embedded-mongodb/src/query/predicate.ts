import type { BsonValue } from '../bson/types.js';

/** A range of values in their total order. */
export interface Interval {
  low: BsonValue;
  lowInclusive: boolean;
  high: BsonValue;
  highInclusive: boolean;
}

/**
 * What a filter asks of one path, for whoever picks an index.
 *
 * A matching document has, among the values that an index over `path` stores for it, one inside an interval. It says
 * nothing of the other direction: each candidate still goes through the filter's `matches`. Two predicates over one path
 * may be met by two different elements of an array, so their intervals may be intersected only where the path holds no array.
 */
export interface Predicate {
  path: string;
  /** In ascending order, without overlap. */
  intervals: Interval[];
  /** Whether a document without the path can match, which rules out a sparse index. */
  includesMissing: boolean;
}
