import { everyDocument } from '../../query/filter.js';
import { clauseOperators, fieldOperators } from '../registry.js';

fieldOperators.define('$comment', () => undefined);
clauseOperators.define('$comment', () => everyDocument);
