import { Extreme } from '../../aggregate/values/extreme.js';
import { accumulators } from '../registry.js';

accumulators.define('$max', { create: () => new Extreme(1) });
