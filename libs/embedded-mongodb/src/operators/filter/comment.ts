import { everyDocument } from '../../query/filter.js';
import { clauseOperators, fieldOperators } from '../../query/operators.js';

fieldOperators.define('$comment', () => undefined);
clauseOperators.define('$comment', () => everyDocument);
