import { describe } from '../../bson/describe.js';
import { wholeNumber } from '../../bson/numbers.js';
import { badValue } from '../../errors.js';
import { wholeCondition } from '../../query/condition.js';
import { fieldOperators } from '../../query/operators.js';

fieldOperators.define('$size', (argument) => {
  const wanted = wholeNumber(argument) ?? -1;
  if (wanted >= 0 && wanted <= 0x7fffffff)
    return wholeCondition((value) => Array.isArray(value) && value.length === wanted);
  throw badValue(
    `Failed to parse $size. Expected a whole number of at least 0: $size: ${describe(argument)}`,
  );
});
