import { remove } from '../../update/modifier.js';
import { updates } from '../registry.js';

updates.define('$unset', { modifier: () => ({ missing: 'ignore', change: () => remove }) });
