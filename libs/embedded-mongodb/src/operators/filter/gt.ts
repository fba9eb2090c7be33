import { range } from '../../query/range.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$gt', (argument) => range('$gt', argument));
