import { Int32 } from 'bson';
import { binary, expressions } from '../../aggregate/operator.js';
import { compareResults } from '../../aggregate/values/comparison.js';

expressions.define(
  '$cmp',
  binary((a, b) => new Int32(Math.sign(compareResults(a, b)))),
);
