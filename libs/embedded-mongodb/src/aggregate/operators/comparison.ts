import { compareValues, typeRank } from '../../bson/compare.js';
import { Int32 } from 'bson';
import { isTruthy } from '../../query/operators.js';
import type { Result } from '../scope.js';
import { binary, type Operator, unary } from './operator.js';

/** Compares across all types; a missing value comes before everything but MinKey. */
export function compareResults(a: Result, b: Result): number {
  if (a !== undefined && b !== undefined) return compareValues(a, b);
  return rankOf(a) - rankOf(b);
}

function rankOf(value: Result): number {
  return value === undefined ? 0 : typeRank(value);
}

export const comparisonOperators: Record<string, Operator> = {
  $cmp: binary((a, b) => new Int32(Math.sign(compareResults(a, b)))),
  $eq: binary((a, b) => compareResults(a, b) === 0),
  $ne: binary((a, b) => compareResults(a, b) !== 0),
  $gt: binary((a, b) => compareResults(a, b) > 0),
  $gte: binary((a, b) => compareResults(a, b) >= 0),
  $lt: binary((a, b) => compareResults(a, b) < 0),
  $lte: binary((a, b) => compareResults(a, b) <= 0),
  $not: unary((value) => !isTruthy(value)),
};
