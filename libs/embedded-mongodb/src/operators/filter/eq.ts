import { checkComparable, equality } from '../../query/equality.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$eq', (argument) => {
  checkComparable(argument);
  return equality(argument);
});
