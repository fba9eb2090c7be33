import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { expressions, type Operator } from './operator.js';
import { fieldPath } from './field-path.js';
import { constant, type Expression, fold, noNames, type Result, type Variables } from './scope.js';

/**
 * @param variables What `$$name` may refer to.
 * @throws CommandError CommandNotSupported (115) for an operator that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/
 */
export function compileExpression(expression: BsonValue, variables: Variables = noNames): Expression {
  if (typeof expression === 'string' && expression.startsWith('$')) return compilePath(expression, variables);
  if (Array.isArray(expression)) {
    const elements = expression.map((each) => compileExpression(each, variables));
    return fold(elements, (document) => elements.map((each) => each(document) ?? null));
  }
  if (!isDocument(expression)) return constant(expression);
  const operator = expression.keys().next().value;
  return operator?.startsWith('$')
    ? compileOperator(operator, expression, variables)
    : compileObject(expression, variables);
}

function compileObject(fields: BsonDocument, variables: Variables): Expression {
  const compiled = Array.from(fields, ([name, value]) => {
    if (name.includes('.')) {
      throw failureAt(
        16412,
        `FieldPath field names may not contain '.'. Consider using $getField or $setField.`,
      );
    }
    if (name.startsWith('$')) throw failureAt(15983, exactlyOne(fields));
    return { name, evaluate: compileExpression(value, variables) };
  });
  return fold(
    compiled.map((each) => each.evaluate),
    (document) => {
      const result: BsonDocument = new Map();
      for (const { name, evaluate } of compiled) {
        const value = evaluate(document);
        if (value !== undefined) result.set(name, value);
      }
      return result;
    },
  );
}

function compileOperator(name: string, expression: BsonDocument, variables: Variables): Expression {
  if (expression.size !== 1) throw failureAt(15983, exactlyOne(expression));
  const argument = expression.get(name) as BsonValue;
  const operator = expressions.find(name);
  if ('compile' in operator) {
    return operator.compile(argument, (inner) => compileExpression(inner, variables));
  }
  const operands = (Array.isArray(argument) ? argument : [argument]).map((each) =>
    compileExpression(each, variables),
  );
  checkArity(name, operator, operands.length);
  return applied(operator, operands);
}

/** An operator over its arguments, constants computed as far as MongoDB does beforehand. */
function applied(operator: Operator, given: readonly Expression[]): Expression {
  const operands = given.every((each) => each.constant) ? given : withFolded(operator, given);
  return fold(operands, (document) => operator.apply(inTurn(operands, document)));
}

function* inTurn(operands: readonly Expression[], document: BsonDocument): Generator<Result> {
  for (const operand of operands) yield operand(document);
}

function withFolded(operator: Operator, operands: readonly Expression[]): readonly Expression[] {
  const computed = (run: readonly Expression[]): readonly Expression[] =>
    run.length > 1 ? [applied(operator, run)] : run;
  switch (operator.folds) {
    case undefined:
      return operands;
    case 'leading': {
      const end = operands.findIndex((each) => !each.constant);
      return [...computed(operands.slice(0, end)), ...operands.slice(end)];
    }
    case 'adjacent': {
      const result: Expression[] = [];
      for (let from = 0; from < operands.length;) {
        const next = operands.findIndex((each, index) => index >= from && !each.constant);
        const end = next < 0 ? operands.length : next;
        result.push(...computed(operands.slice(from, end)), ...operands.slice(end, end + 1));
        from = end + 1;
      }
      return result;
    }
  }
}

function checkArity(name: string, { least, most }: Operator, given: number): void {
  if (given >= least && given <= most) return;
  if (least === most) {
    throw failureAt(16020, `Expression ${name} takes exactly ${least} arguments. ${given} were passed in.`);
  }
  if (most === Infinity) {
    throw failureAt(1257300, `${name} needs at least ${least} arguments, had: ${given}`);
  }
  throw failureAt(
    28667,
    `Expression ${name} takes at least ${least} arguments, and at most ${most}, but ${given} were passed in.`,
  );
}

function compilePath(text: string, variables: Variables): Expression {
  if (text === '$') throw failureAt(16872, `'$' by itself is not a valid FieldPath`);
  if (text === '$$') throw failure('FailedToParse', 'empty variable names are not allowed');
  const isVariable = text.startsWith('$$');
  const names = fieldPath(text.slice(isVariable ? 2 : 1));
  if (!isVariable) return (document) => valueAt(document, names);
  const [variable = '', ...rest] = names;
  switch (variable) {
    case 'ROOT':
    case 'CURRENT':
      return (document) => valueAt(document, rest);
    case 'REMOVE':
      return constant(undefined);
    default:
      return compileVariable(variable, rest, variables);
  }
}

function compileVariable(name: string, rest: readonly string[], variables: Variables): Expression {
  const found = variables.get(name);
  if (found) return fold([found], (document) => valueAt(found(document), rest));
  if (/^[A-Z]/.test(name)) throw unsupported(`The variable $$${name}`);
  throw failureAt(17276, `Use of undefined variable: ${name}`);
}

/** The value at a path; through an array it is the array of what its documents have there. Numbers in it are names. */
function valueAt(value: Result, names: readonly string[], depth = 0): Result {
  if (depth === names.length) return value;
  if (isDocument(value)) return valueAt(value.get(names[depth] as string), names, depth + 1);
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((element): BsonValue[] => {
    const nested = isDocument(element) ? valueAt(element, names, depth) : undefined;
    return nested === undefined ? [] : [nested];
  });
}

function exactlyOne(expression: BsonDocument): string {
  return `an object representing an expression must have exactly one field: ${[...expression.keys()].join(', ')}`;
}
