import { binary, expressions } from '../../aggregate/operator.js';
import { compareResults } from '../../aggregate/values/comparison.js';

expressions.define(
  '$gt',
  binary((a, b) => compareResults(a, b) > 0),
);
