import { Sum } from '../../aggregate/values/sum-accumulator.js';
import { accumulators } from '../registry.js';

accumulators.define('$sum', { create: () => new Sum() });
