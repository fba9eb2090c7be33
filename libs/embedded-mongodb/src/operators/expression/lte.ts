import { binary } from '../../aggregate/operator.js';
import { compareResults } from '../../aggregate/values/comparison.js';
import { expressions } from '../registry.js';

expressions.define(
  '$lte',
  binary((a, b) => compareResults(a, b) <= 0),
);
