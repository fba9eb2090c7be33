import { logicalOperator } from '../../aggregate/values/logical.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$or', logicalOperator('$or', true));
