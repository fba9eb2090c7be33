import { negation } from '../../query/condition.js';
import { membership } from '../../query/membership.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$nin', (argument) => negation([membership('$nin', argument)]));
