import { binary, expressions, nullable } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { set } from '../../aggregate/values/sets.js';
import { valuesEqual } from '../../bson/compare.js';
import type { BsonArray } from '../../bson/types.js';

expressions.define('$setDifference', nullable(binary(difference)));

function difference(a: Result, b: Result): Result {
  const [left, right] = [set('$setDifference', a, 17048), set('$setDifference', b, 17049)];
  const result: BsonArray = [];
  for (const value of left) {
    if (![...right, ...result].some((other) => valuesEqual(other, value))) result.push(value);
  }
  return result;
}
