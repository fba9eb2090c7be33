import { compileExpression } from '../../aggregate/expression.js';
import { isTruthy } from '../../bson/truth.js';
import { opaque } from '../../query/filter.js';
import { clauseOperators } from '../../query/operators.js';

clauseOperators.define('$expr', (argument, { onTopLevel, variables }) => {
  if (onTopLevel) throw onTopLevel('$expr');
  const evaluate = compileExpression(argument, variables);
  return {
    ...opaque,
    evaluates: true,
    matches: (document) => isTruthy(evaluate(document)),
  };
});
