import { allOf, compileBranches } from '../../query/filter.js';
import { clauseOperators } from '../../query/operators.js';

clauseOperators.define('$and', (argument, context) => allOf(compileBranches('$and', argument, context)));
