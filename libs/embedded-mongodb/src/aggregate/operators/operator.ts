import { BsonUndefined, type BsonValue } from '../../bson/types.js';
import type { Result } from '../scope.js';

/** An operator that evaluates all of its arguments first. */
export interface Operator {
  least: number;
  most: number;
  apply(operands: readonly Result[]): Result;
}

export function unary(apply: (operand: Result) => Result): Operator {
  return { least: 1, most: 1, apply: ([operand]) => apply(operand) };
}

export function binary(apply: (a: Result, b: Result) => Result): Operator {
  return { least: 2, most: 2, apply: ([a, b]) => apply(a, b) };
}

export function variadic(
  apply: (operands: readonly Result[]) => Result,
  least = 0,
  most = Infinity,
): Operator {
  return { least, most, apply };
}

/** Whether a value counts as absent: missing, null or undefined. */
export function isNullish(value: Result): value is null | undefined {
  return value === undefined || value === null || value instanceof BsonUndefined;
}

/** The first argument that is absent makes the whole expression null; most operators are of this kind. */
export function nullable(operator: Operator): Operator {
  return {
    ...operator,
    apply: (operands) => (operands.some(isNullish) ? null : operator.apply(operands)),
  };
}

/** Values that are present; only for use inside {@link nullable}. */
export function present(value: Result): BsonValue {
  return value as BsonValue;
}
