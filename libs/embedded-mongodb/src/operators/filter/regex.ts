import { BSONRegExp } from 'bson';
import type { BsonValue } from '../../bson/types.js';
import { badValue, failureAt } from '../../errors.js';
import { regex } from '../../query/regex-condition.js';
import { checkOptions } from '../../query/regex.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$regex', (argument, siblings) =>
  regex(regexArgument(argument, siblings.get('$options'))),
);

function regexArgument(pattern: BsonValue, options: BsonValue | undefined): BSONRegExp {
  if (options !== undefined && typeof options !== 'string') throw badValue('$options has to be a string');
  if (options !== undefined) checkOptions(options);
  if (pattern instanceof BSONRegExp) {
    if (pattern.options !== '' && options !== undefined)
      throw failureAt(51075, 'options set in both $regex and $options');
    return new BSONRegExp(pattern.pattern, options ?? pattern.options);
  }
  if (typeof pattern !== 'string') throw badValue('$regex has to be a string');
  return new BSONRegExp(pattern, options ?? '');
}
