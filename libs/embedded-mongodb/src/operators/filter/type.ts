import { condition } from '../../query/condition.js';
import { isOfType, parseTypeSet } from '../../query/type-set.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$type', (argument) => {
  const types = parseTypeSet(argument);
  return condition((value) => isOfType(value, types));
});
