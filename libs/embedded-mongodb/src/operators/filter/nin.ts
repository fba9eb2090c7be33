import { negation } from '../../query/condition.js';
import { membership } from '../../query/membership.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$nin', (argument) => negation([membership('$nin', argument)]));
