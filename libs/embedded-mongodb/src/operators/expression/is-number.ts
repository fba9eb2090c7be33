import { unary } from '../../aggregate/operator.js';
import { isNumber } from '../../bson/types.js';
import { expressions } from '../registry.js';

expressions.define('$isNumber', unary(isNumber));
