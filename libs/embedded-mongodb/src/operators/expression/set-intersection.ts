import { expressions, isNullish, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { distinct, set } from '../../aggregate/values/sets.js';
import { valuesEqual } from '../../bson/compare.js';
import type { BsonArray } from '../../bson/types.js';

expressions.define('$setIntersection', variadic(intersection, { folds: 'all' }));

function intersection(operands: Iterable<Result>): Result {
  let result: BsonArray | undefined;
  for (const each of operands) {
    if (isNullish(each)) return null;
    const values = distinct(set('$setIntersection', each, 17047));
    // Of two equal numbers that of the smaller set stays.
    const [kept, other] = result && result.length <= values.length ? [result, values] : [values, result];
    result = other ? kept.filter((value) => other.some((one) => valuesEqual(one, value))) : kept;
  }
  return result ?? [];
}
