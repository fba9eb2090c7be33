import { constant } from '../../aggregate/scope.js';
import { expressions } from '../registry.js';

expressions.define('$literal', { compile: (argument) => constant(argument) });
