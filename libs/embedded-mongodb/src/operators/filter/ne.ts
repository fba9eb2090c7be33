import { BSONRegExp } from 'bson';
import { badValue } from '../../errors.js';
import { negation } from '../../query/condition.js';
import { equality } from '../../query/equality.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$ne', (argument) => {
  if (argument instanceof BSONRegExp) throw badValue(`Can't have regex as arg to $ne.`);
  return negation([equality(argument)]);
});
