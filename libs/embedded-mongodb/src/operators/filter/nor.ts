import { compileBranches, opaque } from '../../query/filter.js';
import { clauseOperators } from '../../query/operators.js';

clauseOperators.define('$nor', (argument, context) => {
  const branches = compileBranches('$nor', argument, context);
  return { ...opaque, matches: (document) => !branches.some((each) => each.matches(document)) };
});
