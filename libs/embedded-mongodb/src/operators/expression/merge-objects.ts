import { expressions, isNullish, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { type BsonDocument, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$mergeObjects', variadic(mergeObjects));

function mergeObjects(operands: Iterable<Result>): Result {
  const result: BsonDocument = new Map();
  for (const operand of operands) {
    if (isNullish(operand)) continue;
    if (!isDocument(operand)) {
      throw failureAt(
        40400,
        `$mergeObjects requires object inputs, but input is of type ${typeName(operand)}`,
      );
    }
    for (const [name, value] of operand) result.set(name, value);
  }
  return result;
}
