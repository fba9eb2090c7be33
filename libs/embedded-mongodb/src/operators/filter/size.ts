import { toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber, typeName } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { wholeCondition } from '../../query/condition.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$size', (argument) => {
  const wanted = isNumber(argument) ? toDouble(argument) : NaN;
  if (Number.isNaN(wanted)) {
    throw failure('BadValue', `Failed to parse $size. Expected a number in: $size: ${describe(argument)}`);
  }
  if (!Number.isInteger(wanted)) {
    throw failure('BadValue', `Failed to parse $size. Expected an integer: $size: ${wanted}`);
  }
  if (Math.abs(wanted) > 0x7fffffff) {
    throw failure('BadValue', `Failed to parse $size. Cannot represent in an int: $size: ${wanted}`);
  }
  if (wanted < 0)
    throw failure('BadValue', `Failed to parse $size. Expected a non-negative number in: $size: ${wanted}`);
  return wholeCondition((value) => Array.isArray(value) && value.length === wanted);
});

function describe(value: BsonValue): string {
  return typeof value === 'string' ? JSON.stringify(value) : typeName(value);
}
