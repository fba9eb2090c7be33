import { range } from '../../query/range.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$lt', (argument) => range('$lt', argument));
