import { logicalOperator } from '../../aggregate/values/logical.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$and', logicalOperator('$and', false));
