import { expressions, unary } from '../../aggregate/operator.js';
import { set } from '../../aggregate/values/sets.js';
import { isTruthy } from '../../bson/truth.js';

expressions.define(
  '$allElementsTrue',
  unary((value) => set('$allElementsTrue', value, 17040).every(isTruthy)),
);
