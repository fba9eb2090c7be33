import { constant } from '../../aggregate/scope.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$const', { compile: (argument) => constant(argument) });
