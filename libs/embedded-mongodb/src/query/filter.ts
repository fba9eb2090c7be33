import type { BsonDocument, BsonValue } from '../bson/types.js';

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
 * nothing of the other direction: each candidate still goes through {@link Filter.matches}. Two predicates over one path
 * may be met by two different elements of an array, so their intervals may be intersected only where the path holds no array.
 */
export interface Predicate {
  path: string;
  /** In ascending order, without overlap. */
  intervals: Interval[];
  /** Whether a document without the path can match, which rules out a sparse index. */
  includesMissing: boolean;
}

/** A `$text` search. */
export interface TextQuery {
  search: string;
}

/** A compiled filter. */
export interface Filter {
  /** Whether a document matches; `$text` counts as matched, since only the text index can tell. */
  matches(document: BsonDocument): boolean;
  /** All of them hold for every match. */
  readonly predicates: readonly Predicate[];
  /** For each `$or` that every match has to meet, its branches. */
  readonly alternatives: readonly (readonly Filter[])[];
  readonly text?: TextQuery;
}

/**
 * @throws CommandError BadValue (2) and others, as MongoDB words them; CommandNotSupported (115) for what this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/
 */
export declare function compileFilter(filter: BsonDocument): Filter;
