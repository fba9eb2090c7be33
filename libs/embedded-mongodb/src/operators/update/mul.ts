import { arithmetic } from '../../update/arithmetic.js';
import { updates } from '../../update/operator.js';

updates.define('$mul', { modifier: (path, argument) => arithmetic('$mul', path, argument) });
