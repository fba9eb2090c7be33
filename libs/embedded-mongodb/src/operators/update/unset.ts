import { remove } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$unset', { modifier: () => ({ missing: 'ignore', change: () => remove }) });
