import { extreme } from '../../update/extreme.js';
import { updates } from '../../update/operator.js';

updates.define('$max', { modifier: (_path, argument) => extreme('$max', argument) });
