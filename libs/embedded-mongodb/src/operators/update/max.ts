import { extreme } from '../../update/extreme.js';
import { updates } from '../registry.js';

updates.define('$max', { modifier: (_path, argument) => extreme('$max', argument) });
