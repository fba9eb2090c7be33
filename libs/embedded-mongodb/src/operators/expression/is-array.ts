import { expressions, unary } from '../../aggregate/operator.js';

expressions.define(
  '$isArray',
  unary((value) => Array.isArray(value)),
);
