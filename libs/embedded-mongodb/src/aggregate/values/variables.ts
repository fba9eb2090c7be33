import { type BsonDocument, type BsonValue, typeName } from '../../bson/types.js';
import { failure, failureAt, unsupported } from '../../errors.js';
import { type Compile, isNullish } from '../operator.js';
import type { Expression, Result, Scope } from '../scope.js';

/** The name of a variable that a user may set. */
export function checkedName(name: string): string {
  if (name === 'CURRENT') throw unsupported('Another document as $$CURRENT');
  if (/^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) return name;
  throw failure('FailedToParse', `'${name}' starts with an invalid character for a user variable name`);
}

/** A scope with further variables. */
export function withVariables(scope: Scope, added: [string, Result][]): Scope {
  return { ...scope, variables: new Map([...scope.variables, ...added]) };
}

/** The parts that `$map` and `$filter` share. */
export function loop(
  options: BsonDocument,
  bodyName: string,
  compile: Compile,
): { input: Expression; name: string; body: Expression } {
  const as = options.get('as') ?? 'this';
  if (typeof as !== 'string') throw failure('FailedToParse', `'as' must be a string`);
  const name = checkedName(as);
  return {
    input: compile(options.get('input') as BsonValue),
    name,
    body: compile(options.get(bodyName) as BsonValue, [name]),
  };
}

/** Runs over the elements of an array, each as the value of a variable. */
export function eachElement(
  scope: Scope,
  input: Expression,
  name: string,
  code: number,
  operator: string,
  collect: (scope: Scope, element: BsonValue) => BsonValue[],
): Result {
  const array = input(scope);
  if (isNullish(array)) return null;
  if (!Array.isArray(array)) {
    throw failureAt(code, `input to ${operator} must be an array not ${typeName(array)}`);
  }
  return array.flatMap((element) => collect(withVariables(scope, [[name, element]]), element));
}
