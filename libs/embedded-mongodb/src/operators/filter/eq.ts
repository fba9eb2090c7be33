import { checkComparable, equality } from '../../query/equality.js';
import { fieldOperators } from '../registry.js';

fieldOperators.define('$eq', (argument) => {
  checkComparable(argument);
  return equality(argument);
});
