import { Sum } from '../../aggregate/values/sum-accumulator.js';
import { accumulators } from '../../aggregate/accumulator.js';

accumulators.define('$sum', { create: () => new Sum() });
