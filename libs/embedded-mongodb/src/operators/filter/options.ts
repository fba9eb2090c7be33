import { badValue } from '../../errors.js';
import { fieldOperators } from '../../query/operators.js';

/** Read by `$regex`. */
fieldOperators.define('$options', (_argument, siblings) => {
  if (!siblings.has('$regex')) throw badValue('$options needs a $regex');
  return undefined;
});
