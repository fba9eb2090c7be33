import type { BsonDocument, BsonValue } from '../bson/types.js';

/** A value of an expression: `undefined` stands for a missing one. */
export type Result = BsonValue | undefined;

/** A compiled expression, which is evaluated over a document. */
export interface Expression {
  (document: BsonDocument): Result;
  /** Set when the value depends on no document. */
  readonly constant?: true;
}

/** An expression that always gives the same. */
export function constant(value: Result): Expression {
  return Object.assign(() => value, { constant: true as const });
}
