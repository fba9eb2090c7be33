import { Extreme } from '../../aggregate/values/extreme.js';
import { accumulators } from '../registry.js';

accumulators.define('$min', { create: () => new Extreme(-1) });
