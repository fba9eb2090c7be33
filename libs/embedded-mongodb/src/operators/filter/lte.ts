import { range } from '../../query/range.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$lte', (argument) => range('$lte', argument));
