import { equality } from '../../query/equality.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$eq', equality);
