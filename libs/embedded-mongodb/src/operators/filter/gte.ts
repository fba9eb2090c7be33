import { range } from '../../query/range.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$gte', (argument) => range('$gte', argument));
