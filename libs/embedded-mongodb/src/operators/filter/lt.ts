import { range } from '../../query/range.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$lt', (argument) => range('$lt', argument));
