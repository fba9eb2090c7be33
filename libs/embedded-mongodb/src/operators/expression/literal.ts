import { constant } from '../../aggregate/scope.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$literal', { compile: (argument) => constant(argument) });
