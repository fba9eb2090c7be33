import { range } from '../../query/range.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$gt', (argument) => range('$gt', argument));
