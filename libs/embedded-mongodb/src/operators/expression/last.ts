import { arrayEnd } from '../../aggregate/values/array-end.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$last', arrayEnd('$last', -1));
