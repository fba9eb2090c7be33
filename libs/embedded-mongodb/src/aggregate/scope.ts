import type { BsonDocument, BsonValue } from '../bson/types.js';

/** A value of an expression: `undefined` stands for a missing one. */
export type Result = BsonValue | undefined;

/** A compiled expression, which is evaluated over a document. */
export interface Expression {
  (document: BsonDocument): Result;
  /** Set when the value depends on no document. */
  readonly constant?: true;
}

/** What `$$name` stands for: the `let` of a command, and the time. */
export type Variables = ReadonlyMap<string, Expression>;

/** No variables but MongoDB's own. */
export const noNames: Variables = new Map();

let folding = true;

/** Reads expressions without computing constants beforehand, as MongoDB does in an update. */
export function unfolded<T>(read: () => T): T {
  folding = false;
  try {
    return read();
  } finally {
    folding = true;
  }
}

/** An expression that always gives the same. */
export function constant(value: Result): Expression {
  return folding ? Object.assign(() => value, { constant: true as const }) : () => value;
}

/** The value of an expression that depends on no document. */
export function valueOf(expression: Expression): Result {
  return expression(new Map());
}

/** MongoDB computes what depends on no document while it reads the pipeline, and so meets its errors even without documents. */
export function fold(operands: readonly Expression[], evaluate: Expression): Expression {
  return operands.every((each) => each.constant) ? constant(valueOf(evaluate)) : evaluate;
}
