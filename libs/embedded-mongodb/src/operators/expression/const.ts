import { constant } from '../../aggregate/scope.js';
import { expressions } from '../registry.js';

expressions.define('$const', { compile: (argument) => constant(argument) });
