import { binary, expressions, nullable } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { type BsonValue, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$split', nullable(binary(split)));

function split(value: Result, separator: Result): BsonValue {
  if (typeof value !== 'string') {
    throw failureAt(
      40085,
      `$split requires an expression that evaluates to a string as a first argument, found: ${typeName(value as BsonValue)}`,
    );
  }
  if (typeof separator !== 'string') {
    throw failureAt(
      40086,
      `$split requires an expression that evaluates to a string as a second argument, found: ${typeName(separator as BsonValue)}`,
    );
  }
  if (separator === '') throw failureAt(40087, '$split requires a non-empty separator');
  return value.split(separator);
}
