import type { BsonDocument, BsonValue } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { compileExpression } from './expression.js';
import { constant, type Expression, noNames, type Variables } from './scope.js';

/**
 * The variables of a command's `let`: each is evaluated once, before any document is read, and may use those before it.
 *
 * @param outer Variables of the surroundings, which may be used and hidden. @default none
 * @throws CommandError FailedToParse (9) for a name that cannot be used, 4890500 for an expression over a document.
 * @see https://www.mongodb.com/docs/manual/reference/command/find/#std-label-find-let-syntax
 */
export function compileLet(definitions: BsonDocument | undefined, outer: Variables = noNames): Variables {
  // One moment for the whole command.
  const variables = new Map<string, Expression>([['NOW', constant(new Date())], ...outer]);
  if (!definitions) return variables;
  for (const [name, expression] of definitions) {
    checkName(name);
    variables.set(name, constant(evaluate(expression, variables)));
  }
  return variables;
}

function checkName(name: string): void {
  if (name === 'CURRENT') throw unsupported('Another document as $$CURRENT');
  if (/^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) return;
  throw failure(
    'FailedToParse',
    `Invalid 'let' parameter :: caused by :: '${name}' starts with an invalid character for a user variable name`,
  );
}

function evaluate(expression: BsonValue, variables: Variables): BsonValue | undefined {
  const value = compileExpression(expression, variables)(noDocument);
  if (value === noDocument) throw fieldAccess();
  return value;
}

/** Stands where a document would, and refuses to be read. */
const noDocument = new (class extends Map<string, BsonValue> {
  override get(): never {
    throw fieldAccess();
  }
})();

function fieldAccess(): Error {
  return failureAt(
    4890500,
    'Command let Expression tried to access a field, but this is not allowed because Command let Expressions run before the query examines any documents.',
  );
}
