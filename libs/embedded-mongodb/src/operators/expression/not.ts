import { expressions, unary } from '../../aggregate/operator.js';
import { isTruthy } from '../../bson/truth.js';

expressions.define(
  '$not',
  unary((value) => !isTruthy(value)),
);
