import { Int32 } from 'bson';
import { binary } from '../../aggregate/operator.js';
import { compareResults } from '../../aggregate/values/comparison.js';
import { expressions } from '../registry.js';

expressions.define(
  '$cmp',
  binary((a, b) => new Int32(Math.sign(compareResults(a, b)))),
);
