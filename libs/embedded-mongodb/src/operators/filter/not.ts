import { BSONRegExp } from 'bson';
import { isDocument } from '../../bson/types.js';
import { badValue } from '../../errors.js';
import { negation } from '../../query/condition.js';
import { operatorConditions } from '../../query/field.js';
import { regex } from '../../query/regex-condition.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$not', (argument) => {
  if (argument instanceof BSONRegExp) return negation([regex(argument)]);
  if (!isDocument(argument)) throw badValue('$not needs a regex or a document');
  if (argument.size === 0) throw badValue('$not cannot be empty');
  return negation(operatorConditions(argument));
});
