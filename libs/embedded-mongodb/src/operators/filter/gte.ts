import { range } from '../../query/range.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$gte', (argument) => range('$gte', argument));
