import { Extreme } from '../../aggregate/values/extreme.js';
import { accumulators } from '../../aggregate/accumulator.js';

accumulators.define('$min', { create: () => new Extreme(-1) });
