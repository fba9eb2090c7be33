import { arithmetic } from '../../update/arithmetic.js';
import { updates } from '../registry.js';

updates.define('$mul', { modifier: (path, argument) => arithmetic('$mul', path, argument) });
