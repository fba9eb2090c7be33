import type { BsonDocument } from '../bson/types.js';
import type { Predicate } from './predicate.js';

/** A compiled filter. */
export interface Filter {
  /** Whether a document matches. */
  matches(document: BsonDocument): boolean;
  /** All of them hold for every match. */
  readonly predicates: readonly Predicate[];
  /** For each `$or` that every match has to meet, its branches. */
  readonly alternatives: readonly (readonly Filter[])[];
  /**
   * Whether the predicates say all of it, for documents without arrays on their paths: such a document matches if, and only
   * if, every path's value, a missing one counted as null, lies inside an interval of each predicate over it.
   */
  readonly exact: boolean;
  /** Whether it holds an `$expr`. */
  readonly evaluates?: boolean;
}

/** Where clauses stand. */
export interface ClauseContext {
  /** Makes the error for `$expr`, where it may not stand. */
  onTopLevel?: (operator: string) => Error;
}
