import { describe, describeDocument } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failureAt } from '../errors.js';
import { compileExpression } from './expression.js';
import { type Result, scopeOf } from './scope.js';
import { eachDocument, type Stage, type StageContext } from './stage.js';

/** `$replaceRoot`: the document that an expression gives, in place of the whole. */
export function replaceRootStage(argument: BsonValue, context: StageContext): Stage {
  if (!isDocument(argument)) {
    throw failureAt(
      40229,
      `expected an object as specification for $replaceRoot stage, got ${typeName(argument)}`,
    );
  }
  const unknown = [...argument.keys()].find((name) => name !== 'newRoot');
  if (unknown !== undefined)
    throw failureAt(40415, `BSON field '$replaceRoot.${unknown}' is an unknown field.`);
  const root = argument.get('newRoot');
  if (root === undefined)
    throw failureAt(40414, `BSON field '$replaceRoot.newRoot' is missing but a required field`);
  return replaceBy(root, `'newRoot' expression `, context);
}

/** `$replaceWith`: the short form of `$replaceRoot`. */
export function replaceWithStage(argument: BsonValue, context: StageContext): Stage {
  return replaceBy(argument, `'replacement document' `, context);
}

function replaceBy(expression: BsonValue, what: string, { variables }: StageContext): Stage {
  const evaluate = compileExpression(expression, variables);
  return eachDocument((document) => {
    const root = evaluate(scopeOf(document));
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
