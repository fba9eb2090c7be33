import { unary } from '../../aggregate/operator.js';
import { isTruthy } from '../../bson/truth.js';
import { expressions } from '../registry.js';

expressions.define(
  '$not',
  unary((value) => !isTruthy(value)),
);
