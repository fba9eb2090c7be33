import { unary } from '../../aggregate/operator.js';
import { foldCase } from '../../aggregate/values/strings.js';
import { expressions } from '../registry.js';

expressions.define(
  '$toUpper',
  unary((value) => foldCase(value, (each) => each.toUpperCase())),
);
