import { arrayEnd } from '../../aggregate/values/array-end.js';
import { expressions } from '../registry.js';

expressions.define('$last', arrayEnd('$last', -1));
