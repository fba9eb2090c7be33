import { BSONRegExp } from 'bson';
import { isDocument } from '../../bson/types.js';
import { badValue } from '../../errors.js';
import { conjunction, never } from '../../query/condition.js';
import { equality } from '../../query/equality.js';
import { operatorConditions } from '../../query/field.js';
import { namesReference } from '../../query/reference.js';
import { regex } from '../../query/regex-condition.js';
import { fieldOperators } from '../../query/operators.js';

/** Every value, or every `$elemMatch`, is found somewhere in the field. */
fieldOperators.define('$all', (argument) => {
  if (!Array.isArray(argument)) throw badValue('$all needs an array');
  if (argument.length === 0) return never;
  const first = argument[0];
  const nested = isDocument(first) && first.keys().next().value === '$elemMatch';
  return conjunction(
    argument.map((each) => {
      if (nested) {
        if (!isDocument(each) || each.keys().next().value !== '$elemMatch') {
          throw badValue('$all/$elemMatch has to be consistent');
        }
        return conjunction(operatorConditions(each));
      }
      if (isDocument(each) && each.keys().next().value?.startsWith('$') && !namesReference(each)) {
        throw badValue('no $ expressions in $all');
      }
      return each instanceof BSONRegExp ? regex(each) : equality(each);
    }),
  );
});
