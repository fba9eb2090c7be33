import { compileExpression } from '../../aggregate/expression.js';
import { isTruthy } from '../../bson/truth.js';
import { opaque } from '../../query/filter.js';
import { clauseOperators } from '../../query/operators.js';

clauseOperators.define('$expr', (argument, { onTopLevel }) => {
  if (onTopLevel) throw onTopLevel('$expr');
  const evaluate = compileExpression(argument);
  return {
    ...opaque,
    evaluates: true,
    matches: (document) => isTruthy(evaluate(document)),
  };
});
