import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import type { BsonArray } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$concatArrays', variadic(concatArrays, { folds: 'adjacent' }));

function concatArrays(operands: Iterable<Result>): Result {
  const result: BsonArray = [];
  for (const each of operands) {
    if (isNullish(each)) return null;
    if (!Array.isArray(each)) {
      throw failureAt(28664, `$concatArrays only supports arrays, not ${nameOf(each)}`);
    }
    for (const element of each) result.push(element);
  }
  return result;
}
