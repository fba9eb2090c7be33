import { setTo } from '../../update/set-to.js';
import { updates } from '../registry.js';

updates.define('$set', { modifier: (_path, argument) => setTo(argument) });
