import { logicalOperator } from '../../aggregate/values/logical.js';
import { expressions } from '../registry.js';

expressions.define('$and', logicalOperator(false));
