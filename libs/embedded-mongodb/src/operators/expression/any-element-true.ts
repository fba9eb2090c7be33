import { expressions, unary } from '../../aggregate/operator.js';
import { set } from '../../aggregate/values/sets.js';
import { isTruthy } from '../../bson/truth.js';

expressions.define(
  '$anyElementTrue',
  unary((value) => set('$anyElementTrue', value, 17041).some(isTruthy)),
);
