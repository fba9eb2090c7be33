import { membership } from '../../query/membership.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$in', (argument) => membership('$in', argument));
