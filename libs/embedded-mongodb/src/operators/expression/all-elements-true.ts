import { unary } from '../../aggregate/operator.js';
import { set } from '../../aggregate/values/sets.js';
import { isTruthy } from '../../bson/truth.js';
import { expressions } from '../registry.js';

expressions.define(
  '$allElementsTrue',
  unary((value) => set('$allElementsTrue', value, 17040).every(isTruthy)),
);
