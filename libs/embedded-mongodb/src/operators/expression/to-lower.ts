import { unary } from '../../aggregate/operator.js';
import { foldCase } from '../../aggregate/values/strings.js';
import { expressions } from '../registry.js';

expressions.define(
  '$toLower',
  unary((value) => foldCase(value, (each) => each.toLowerCase())),
);
