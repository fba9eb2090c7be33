import { expressions, unary } from '../../aggregate/operator.js';
import { foldCase } from '../../aggregate/values/strings.js';

expressions.define(
  '$toLower',
  unary((value) => foldCase(value, (each) => each.toLowerCase())),
);
