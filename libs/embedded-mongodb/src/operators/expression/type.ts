import { expressions, nameOf, unary } from '../../aggregate/operator.js';

expressions.define('$type', unary(nameOf));
