import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failure, failureAt, unsupported } from '../../errors.js';
import { isTruthy } from '../../query/operators.js';
import { constant, type Expression, fold, type Result, type Scope, scopeOf } from '../scope.js';
import { isNullish } from './operator.js';
import { setField } from './set-field.js';

/** Compiles an argument, in which the added variables may be used besides those of its surroundings. */
export type Compile = (expression: BsonValue, added?: readonly string[]) => Expression;

/** Operators that evaluate only some of their arguments, or evaluate them with variables of their own. */
export const scopedOperators: Record<string, (argument: BsonValue, compile: Compile) => Expression> = {
  $setField: setField,
  $and: (argument, compile) => logical(argument, compile, false),
  $or: (argument, compile) => logical(argument, compile, true),
  $ifNull(argument, compile) {
    const operands = listOf(argument).map((each) => compile(each));
    if (operands.length < 2) {
      throw failureAt(1257300, `$ifNull needs at least two arguments, had: ${operands.length}`);
    }
    const last = operands.pop();
    return (scope) => {
      for (const operand of operands) {
        const value = operand(scope);
        if (!isNullish(value)) return value;
      }
      return last?.(scope);
    };
  },
  $cond(argument, compile) {
    const [test, then, otherwise] = condition(argument).map((each) => compile(each));
    if (test?.constant) {
      const chosen = isTruthy(test(scopeOf(new Map()))) ? then : otherwise;
      return chosen as Expression;
    }
    return (scope) => (isTruthy(test?.(scope)) ? then?.(scope) : otherwise?.(scope));
  },
  $switch(argument, compile) {
    const options = named('$switch', argument, 40060, { branches: 40068 }, ['default'], 40067);
    const branches = options.get('branches');
    if (!Array.isArray(branches)) {
      throw failureAt(
        40061,
        `$switch expected an array for 'branches', found: ${typeName(branches as BsonValue)}`,
      );
    }
    const compiled = branches.map((each) => {
      const branch = named('$switch branch', each, 40062, { case: 40064, then: 40065 }, [], 40063);
      return {
        when: compile(branch.get('case') as BsonValue),
        then: compile(branch.get('then') as BsonValue),
      };
    });
    if (compiled.length === 0) throw failureAt(40068, '$switch requires at least one branch.');
    const fallback = options.get('default');
    const otherwise = fallback === undefined ? undefined : compile(fallback);
    const isNever = (test: Expression): boolean =>
      test.constant === true && !isTruthy(test(scopeOf(new Map())));
    if (!otherwise && compiled.every(({ when }) => isNever(when))) {
      throw failureAt(
        40069,
        'Cannot execute a switch statement where all the cases evaluate to false without a default',
      );
    }
    return (scope) => {
      const branch = compiled.find(({ when }) => isTruthy(when(scope)));
      if (branch) return branch.then(scope);
      if (otherwise) return otherwise(scope);
      throw failureAt(
        40066,
        '$switch could not find a matching branch for an input, and no default was specified.',
      );
    };
  },
  $let(argument, compile) {
    const options = named('$let', argument, 16874, { vars: 16876, in: 16877 }, [], 16875);
    const variables = options.get('vars');
    if (!isDocument(variables)) {
      throw failure('FailedToParse', `invalid parameter: expected an object (vars)`);
    }
    const compiled = Array.from(variables, ([name, value]) => ({
      name: checkedName(name),
      value: compile(value),
    }));
    const body = compile(
      options.get('in') as BsonValue,
      compiled.map(({ name }) => name),
    );
    return (scope) => {
      const bound = compiled.map(({ name, value }): [string, Result] => [name, value(scope)]);
      return body(withVariables(scope, bound));
    };
  },
  $map(argument, compile) {
    const options = named('$map', argument, 16878, { input: 16880, in: 16882 }, ['as'], 16879);
    const { input, name, body } = loop(options, 'in', compile);
    return (scope) => eachElement(scope, input, name, 16883, '$map', (element) => [body(element) ?? null]);
  },
  $filter(argument, compile) {
    const options = named('$filter', argument, 28646, { input: 28648, cond: 28650 }, ['as'], 28647);
    const { input, name, body } = loop(options, 'cond', compile);
    return (scope) =>
      eachElement(scope, input, name, 28651, '$filter', (element, value) =>
        isTruthy(body(element)) ? [value] : [],
      );
  },
  $reduce(argument, compile) {
    const options = named(
      '$reduce',
      argument,
      40075,
      { input: 40077, initialValue: 40078, in: 40079 },
      [],
      40076,
    );
    const [input, initial] = ['input', 'initialValue'].map((name) => compile(options.get(name) as BsonValue));
    const body = compile(options.get('in') as BsonValue, ['value', 'this']);
    return (scope) => {
      const array = input?.(scope);
      if (isNullish(array)) return null;
      if (!Array.isArray(array))
        throw failureAt(40080, `$reduce requires that 'input' be an array, found: ${typeName(array)}`);
      return array.reduce<Result>(
        (value, element) =>
          body?.(
            withVariables(scope, [
              ['value', value],
              ['this', element],
            ]),
          ),
        initial?.(scope),
      );
    };
  },
};

/** Operands of which one that is `decisive` decides; where a constant is, the others are never evaluated, as in MongoDB. */
function logical(argument: BsonValue, compile: Compile, decisive: boolean): Expression {
  const operands = listOf(argument).map((each) => compile(each));
  const decides = (each: Expression, scope: Scope): boolean => isTruthy(each(scope)) === decisive;
  if (operands.some((each) => each.constant && decides(each, scopeOf(new Map())))) return constant(decisive);
  return fold(operands, (scope) => operands.some((each) => decides(each, scope)) === decisive);
}

function listOf(argument: BsonValue): BsonValue[] {
  return Array.isArray(argument) ? argument : [argument];
}

function condition(argument: BsonValue): BsonValue[] {
  if (!isDocument(argument)) {
    const list = listOf(argument);
    if (list.length === 3) return list;
    throw failureAt(16020, `Expression $cond takes exactly 3 arguments. ${list.length} were passed in.`);
  }
  const options = named('$cond', argument, 16866, { if: 17080, then: 17081, else: 17082 }, [], 17083);
  return ['if', 'then', 'else'].map((name) => options.get(name) as BsonValue);
}

/** The named arguments of an operator, all of `required` present and none beyond `optional`; each lack has its code. */
function named(
  operator: string,
  argument: BsonValue,
  typeCode: number,
  required: Record<string, number>,
  optional: string[],
  unknownCode: number,
): BsonDocument {
  if (!isDocument(argument)) {
    throw failureAt(
      typeCode,
      `${operator} only supports an object as its argument, found: ${typeName(argument)}`,
    );
  }
  for (const name of argument.keys()) {
    if (!(name in required) && !optional.includes(name)) {
      throw failureAt(unknownCode, `Unrecognized parameter to ${operator}: ${name}`);
    }
  }
  for (const [name, code] of Object.entries(required)) {
    if (!argument.has(name)) throw failureAt(code, `Missing '${name}' parameter to ${operator}`);
  }
  return argument;
}

export function checkedName(name: string): string {
  if (name === 'CURRENT') throw unsupported('Another document as $$CURRENT');
  if (/^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) return name;
  throw failure('FailedToParse', `'${name}' starts with an invalid character for a user variable name`);
}

function withVariables(scope: Scope, added: [string, Result][]): Scope {
  return { ...scope, variables: new Map([...scope.variables, ...added]) };
}

function loop(
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

function eachElement(
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
