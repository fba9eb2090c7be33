import type { BsonDocument } from '../bson/types.js';
import type { Predicate } from './predicate.js';

/** A compiled filter. */
export interface Filter {
  /** Whether a document matches. */
  matches(document: BsonDocument): boolean;
  /** True for every match. */
  readonly predicates: readonly Predicate[];
  /** The branches of each `$or` that every match has to meet. */
  readonly alternatives: readonly (readonly Filter[])[];
  /**
   * Whether the predicates are equivalent to the filter for documents without arrays on their paths: such a
   * document matches if, and only if, the value at every path (null if missing) is inside an interval of each
   * predicate over it.
   */
  readonly exact: boolean;
  /** Whether it contains an `$expr`. */
  readonly evaluates?: boolean;
}

/** The context of clauses. */
export interface ClauseContext {
  /** Makes the error for `$expr` if it is not allowed. */
  onTopLevel?: (operator: string) => Error;
}
