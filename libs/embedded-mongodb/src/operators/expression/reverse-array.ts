import { expressions, nameOf, nullable, unary } from '../../aggregate/operator.js';
import { failureAt } from '../../errors.js';

expressions.define(
  '$reverseArray',
  nullable(
    unary((value) => {
      if (Array.isArray(value)) return [...value].reverse();
      throw failureAt(
        34435,
        `The argument to $reverseArray must be an array, but was of type: ${nameOf(value)}`,
      );
    }),
  ),
);
