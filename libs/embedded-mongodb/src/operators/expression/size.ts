import { Int32 } from 'bson';
import { expressions, nameOf, unary } from '../../aggregate/operator.js';
import { failureAt } from '../../errors.js';

expressions.define(
  '$size',
  unary((value) => {
    if (Array.isArray(value)) return new Int32(value.length);
    throw failureAt(17124, `The argument to $size must be an array, but was of type: ${nameOf(value)}`);
  }),
);
