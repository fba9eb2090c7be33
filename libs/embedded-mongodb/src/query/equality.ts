import { valuesEqual } from '../bson/compare.js';
import type { BsonValue } from '../bson/types.js';
import { condition, type Condition } from './condition.js';
import { pointIntervals } from './intervals.js';
import type { Test } from './path.js';

/** `$eq`, and the plain `{ field: value }`. */
export function equality(value: BsonValue): Condition {
  return condition(equalTo(value), {
    intervals: pointIntervals(value),
    includesMissing: value === null,
    exact: !Array.isArray(value),
  });
}

/** Whether a value equals another one; null also equals a missing value. */
export function equalTo(value: BsonValue): Test {
  if (value === null) return (each) => each === undefined || each === null;
  if (typeof value === 'string') return (each) => each === value;
  return (each) => each !== undefined && valuesEqual(each, value);
}
