import { Int32 } from 'bson';
import { nameOf, unary } from '../../aggregate/operator.js';
import { failureAt } from '../../errors.js';
import { expressions } from '../registry.js';

expressions.define(
  '$size',
  unary((value) => {
    if (Array.isArray(value)) return new Int32(value.length);
    throw failureAt(17124, `The argument to $size must be an array, but was of type: ${nameOf(value)}`);
  }),
);
