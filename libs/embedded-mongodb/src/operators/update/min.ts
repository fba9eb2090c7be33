import { extreme } from '../../update/extreme.js';
import { updates } from '../../update/operator.js';

updates.define('$min', { modifier: (_path, argument) => extreme('$min', argument) });
