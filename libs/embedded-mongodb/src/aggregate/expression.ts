import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { expressions, wrongArity } from './operator.js';
import { fieldPath } from './field-path.js';
import { constant, type Expression, type Result } from './scope.js';
import { listOf } from './values/list-of.js';

/**
 * @throws CommandError CommandNotSupported (115) for an operator that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/
 */
export function compileExpression(expression: BsonValue): Expression {
  if (typeof expression === 'string' && expression.startsWith('$')) return compilePath(expression);
  if (Array.isArray(expression)) {
    const elements = expression.map((each) => compileExpression(each));
    return composed(elements, (document) => elements.map((each) => each(document) ?? null));
  }
  if (!isDocument(expression)) return constant(expression);
  const operator = expression.keys().next().value;
  return operator?.startsWith('$') ? compileOperator(operator, expression) : compileObject(expression);
}

function compileObject(fields: BsonDocument): Expression {
  const compiled = Array.from(fields, ([name, value]): [string, Expression] => {
    if (name.includes('.')) {
      throw failureAt(
        16412,
        `FieldPath field names may not contain '.'. Consider using $getField or $setField.`,
      );
    }
    if (name.startsWith('$')) throw failureAt(15983, exactlyOne(fields));
    return [name, compileExpression(value)];
  });
  return composed(
    compiled.map(([, evaluate]) => evaluate),
    (document) => {
      const values = compiled.map(([name, evaluate]): [string, Result] => [name, evaluate(document)]);
      return new Map(values.filter((each): each is [string, BsonValue] => each[1] !== undefined));
    },
  );
}

/** An array or a document, which is constant if all of its parts are. */
function composed(parts: readonly Expression[], evaluate: Expression): Expression {
  return parts.every((each) => each.constant) ? constant(evaluate(new Map())) : evaluate;
}

function compileOperator(name: string, expression: BsonDocument): Expression {
  if (expression.size !== 1) throw failureAt(15983, exactlyOne(expression));
  const argument = expression.get(name) as BsonValue;
  const operator = expressions.find(name);
  if ('compile' in operator) return operator.compile(argument, compileExpression);
  const operands = listOf(argument).map((each) => compileExpression(each));
  const { arity = operands.length } = operator;
  if (operands.length !== arity) throw wrongArity(name, arity, operands.length);
  refuseComputable(name, operands);
  return (document) => operator.apply(inTurn(operands, document));
}

/** MongoDB computes such constants in advance, which may affect types, rounding and which errors appear. */
function refuseComputable(name: string, operands: readonly Expression[]): void {
  const sideBySide = operands.some((each, position) => each.constant && operands[position + 1]?.constant);
  if (sideBySide || operands.every((each) => each.constant))
    throw unsupported(`The expression ${name} over constants, one beside the other or alone,`);
}

function* inTurn(operands: readonly Expression[], document: BsonDocument): Generator<Result> {
  for (const operand of operands) yield operand(document);
}

function compilePath(text: string): Expression {
  if (text === '$') throw failureAt(16872, `'$' by itself is not a valid FieldPath`);
  if (text === '$$') throw failure('FailedToParse', 'empty variable names are not allowed');
  const isVariable = text.startsWith('$$');
  const names = fieldPath(text.slice(isVariable ? 2 : 1));
  if (!isVariable) return (document) => valueAt(document, names);
  const [variable = '', ...rest] = names;
  if (variable === 'ROOT' || variable === 'CURRENT') return (document) => valueAt(document, rest);
  if (variable === 'REMOVE') return constant(undefined);
  if (/^[A-Z]/.test(variable)) throw unsupported(`The variable $$${variable}`);
  throw failureAt(17276, `Use of undefined variable: ${variable}`);
}

/**
 * The value at a path. Through an array, it is the array of its documents' values. Numbers in the path are
 * names.
 */
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
