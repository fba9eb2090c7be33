import { nameOf, unary } from '../../aggregate/operator.js';
import { expressions } from '../registry.js';

expressions.define('$type', unary(nameOf));
