import { arrayEnd } from '../../aggregate/values/array-end.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$first', arrayEnd('$first', 0));
