import { type BsonValue, typeName } from '../bson/types.js';
import { failureAt } from '../errors.js';
import { Registry } from '../registry.js';
import type { Expression, Result } from './scope.js';

/** An operator over the values of its arguments. */
export interface Operator {
  /** Number of arguments. @default any number */
  arity?: number;
  /** Takes the values one by one: those that it does not ask for are never evaluated. */
  apply(operands: Iterable<Result>): Result;
}

/** Compiles an argument. */
export type Compile = (expression: BsonValue) => Expression;

/** An operator that evaluates only some of its arguments. */
export interface SpecialOperator {
  compile(argument: BsonValue, compile: Compile): Expression;
}

/** An operator of expressions. */
export type ExpressionOperator = Operator | SpecialOperator;

/** `{ $add: [1, 2] }`, anywhere an expression is allowed. */
export const expressions = new Registry<ExpressionOperator>('The expression');

export function unary(apply: (operand: Result) => Result): Operator {
  return { arity: 1, apply: ([operand]) => apply(operand) };
}

export function binary(apply: (a: Result, b: Result) => Result): Operator {
  return { arity: 2, apply: ([a, b]) => apply(a, b) };
}

export function variadic(apply: (operands: Iterable<Result>) => Result): Operator {
  return { apply };
}

export function wrongArity(name: string, arity: number, given: number): Error {
  return failureAt(16020, `Expression ${name} takes exactly ${arity} arguments. ${given} were passed in.`);
}

/** Whether a value counts as absent: missing or null. */
export function isNullish(value: Result): value is null | undefined {
  return value === undefined || value === null;
}

/** Makes the whole expression null if any argument is absent. */
export function nullable(operator: Operator): Operator {
  return {
    ...operator,
    apply(operands) {
      const values = [...operands];
      return values.some(isNullish) ? null : operator.apply(values);
    },
  };
}

/** Asserts that a value is present; only for use inside {@link nullable}. */
export function present(value: Result): BsonValue {
  return value as BsonValue;
}

/** The name of a value's type in messages. */
export function nameOf(value: Result): string {
  return value === undefined ? 'missing' : typeName(value);
}
