import { arithmetic } from '../../update/arithmetic.js';
import { updates } from '../../update/operator.js';

updates.define('$inc', { modifier: (path, argument) => arithmetic('$inc', path, argument) });
