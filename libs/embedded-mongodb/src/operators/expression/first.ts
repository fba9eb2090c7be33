import { arrayEnd } from '../../aggregate/values/array-end.js';
import { expressions } from '../registry.js';

expressions.define('$first', arrayEnd('$first', 0));
