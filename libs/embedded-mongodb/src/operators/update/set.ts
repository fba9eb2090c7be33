import { setTo } from '../../update/set-to.js';
import { updates } from '../../update/operator.js';

updates.define('$set', { modifier: (_path, argument) => setTo(argument) });
