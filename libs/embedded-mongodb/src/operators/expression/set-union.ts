import { expressions, isNullish, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { distinct, set } from '../../aggregate/values/sets.js';
import type { BsonArray } from '../../bson/types.js';

expressions.define('$setUnion', variadic(union, { folds: 'all' }));

function union(operands: Iterable<Result>): Result {
  const result: BsonArray = [];
  for (const each of operands) {
    if (isNullish(each)) return null;
    for (const element of set('$setUnion', each, 17043)) result.push(element);
  }
  return distinct(result);
}
