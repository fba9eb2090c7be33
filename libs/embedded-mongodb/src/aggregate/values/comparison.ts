import { compareValues, typeRank } from '../../bson/compare.js';
import { BsonUndefined } from '../../bson/types.js';
import type { Result } from '../scope.js';

/** Compares across all types; a missing value comes before everything but MinKey. */
export function compareResults(a: Result, b: Result): number {
  if (a !== undefined && b !== undefined) return compareValues(a, b);
  return rankOf(a) - rankOf(b);
}

function rankOf(value: Result): number {
  return typeRank(value === undefined ? BsonUndefined.value : value);
}
