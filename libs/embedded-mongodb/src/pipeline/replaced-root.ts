import { describe, describeDocument } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failureAt } from '../errors.js';
import { compileExpression } from '../aggregate/expression.js';
import type { Result } from '../aggregate/scope.js';
import { eachDocument, type Stage } from './stage.js';

/** A stage that replaces each document with the result of an expression. */
export function replaceBy(expression: BsonValue, what: string): Stage {
  const evaluate = compileExpression(expression);
  return eachDocument((document) => {
    const root = evaluate(document);
    if (isDocument(root)) return [root];
    throw notADocument(what, root, document);
  });
}

function notADocument(what: string, value: Result, document: BsonDocument): Error {
  const [shown, type] = value === undefined ? ['MISSING', 'missing'] : [describe(value), typeName(value)];
  return failureAt(
    40228,
    `${what} must evaluate to an object, but resulting value was: ${shown}. Type of resulting value: '${type}'. Input document: ${describeDocument(document)}`,
  );
}
