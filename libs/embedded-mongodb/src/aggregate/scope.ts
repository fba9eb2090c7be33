import type { BsonDocument, BsonValue } from '../bson/types.js';

/** A value of an expression; `undefined` means that it is missing. */
export type Result = BsonValue | undefined;

/** A compiled expression, which is evaluated over a document. */
export interface Expression {
  (document: BsonDocument): Result;
  /** Set when the value depends on no document. */
  readonly constant?: true;
}

/** An expression that always has the same value. */
export function constant(value: Result): Expression {
  return Object.assign(() => value, { constant: true as const });
}
