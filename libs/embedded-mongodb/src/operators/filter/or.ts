import { compileBranches } from '../../query/filter.js';
import type { Filter } from '../../query/types.js';
import { clauseOperators } from '../../query/operators.js';

clauseOperators.define('$or', (argument, context) => {
  const branches = compileBranches('$or', argument, context);
  if (branches.length === 1) return branches[0] as Filter;
  return {
    matches: (document) => branches.some((each) => each.matches(document)),
    predicates: [],
    alternatives: [branches],
    exact: false,
  };
});
