import { membership } from '../../query/membership.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$in', (argument) => membership('$in', argument));
