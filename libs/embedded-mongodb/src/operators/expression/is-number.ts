import { expressions, unary } from '../../aggregate/operator.js';
import { isNumber } from '../../bson/types.js';

expressions.define('$isNumber', unary(isNumber));
