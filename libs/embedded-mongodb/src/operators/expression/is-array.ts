import { unary } from '../../aggregate/operator.js';
import { expressions } from '../registry.js';

expressions.define(
  '$isArray',
  unary((value) => Array.isArray(value)),
);
