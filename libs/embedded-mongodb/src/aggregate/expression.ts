import type { BsonDocument, BsonValue } from '../bson/types.js';
import { unsupported } from '../errors.js';

/** What an expression is evaluated over. */
export interface Scope {
  /** The document of the stage. */
  root: BsonDocument;
  /** `$$name` without the dollars. */
  variables: ReadonlyMap<string, BsonValue | undefined>;
}

/** @returns `undefined` for a missing value. */
export type Expression = (scope: Scope) => BsonValue | undefined;

export function compileExpression(_expression: BsonValue): Expression {
  throw unsupported('An expression');
}
