import { range } from '../../query/range.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$lte', (argument) => range('$lte', argument));
