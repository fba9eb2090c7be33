import { wholeCondition } from '../../query/condition.js';
import { compileElementMatch } from '../../query/element.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$elemMatch', (argument) => {
  const { matches, predicates } = compileElementMatch(argument);
  return wholeCondition((value) => Array.isArray(value) && value.some(matches), predicates);
});
