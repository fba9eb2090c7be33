import type { BsonDocument, BsonValue } from '../bson/types.js';

/** What an expression is evaluated over. */
export interface Scope {
  /** The document of the stage. */
  root: BsonDocument;
  /** `$$name` without the dollars. */
  variables: ReadonlyMap<string, BsonValue | undefined>;
}

/** A compiled expression; it gives `undefined` for a missing value. */
export interface Expression {
  (scope: Scope): BsonValue | undefined;
  /** Set when the value depends on no document. */
  readonly constant?: true;
}

/** What `$$name` stands for where an expression is read: its value, or a way to look it up. */
export type Variables = ReadonlyMap<string, Expression>;

/** No variables but MongoDB's own. */
export const noNames: Variables = new Map();

/** Adds names whose values the scope will hold. */
export function withNames(variables: Variables, names: readonly string[]): Variables {
  const looked = names.map((name): [string, Expression] => [name, (scope) => scope.variables.get(name)]);
  return new Map([...variables, ...looked]);
}

/** A value of an expression: `undefined` stands for a missing one. */
export type Result = BsonValue | undefined;

/** The scope of a document without variables. */
export function scopeOf(root: BsonDocument): Scope {
  return { root, variables: noVariables };
}

const noVariables: ReadonlyMap<string, Result> = new Map();

/** An expression that always gives the same. */
export function constant(value: Result): Expression {
  return Object.assign(() => value, { constant: true as const });
}

/** MongoDB computes what depends on no document while it reads the pipeline, and so meets its errors even without documents. */
export function fold(operands: readonly Expression[], evaluate: (scope: Scope) => Result): Expression {
  if (!operands.every((each) => each.constant)) return evaluate;
  return constant(evaluate(scopeOf(new Map())));
}
