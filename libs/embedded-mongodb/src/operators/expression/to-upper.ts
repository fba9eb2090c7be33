import { expressions, unary } from '../../aggregate/operator.js';
import { foldCase } from '../../aggregate/values/strings.js';

expressions.define(
  '$toUpper',
  unary((value) => foldCase(value, (each) => each.toUpperCase())),
);
