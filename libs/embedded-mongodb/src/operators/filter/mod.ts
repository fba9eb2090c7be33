import { truncate } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { condition } from '../../query/condition.js';
import { fieldOperators } from '../../query/operators.js';

/** The remainder of a division of whole numbers. */
fieldOperators.define('$mod', (argument) => {
  if (!Array.isArray(argument)) throw failure('BadValue', 'malformed mod, needs to be an array');
  if (argument.length < 2) throw failure('BadValue', 'malformed mod, not enough elements');
  if (argument.length > 2) throw failure('BadValue', 'malformed mod, too many elements');
  const [divisor, remainder] = argument.map((each, index) => {
    const name = index === 0 ? 'divisor' : 'remainder';
    const whole = isNumber(each) ? truncate(each) : undefined;
    if (whole === undefined) throw failure('BadValue', `malformed mod, ${name} not a number`);
    return whole;
  });
  if (!divisor) throw failure('BadValue', 'divisor cannot be 0');
  return condition((value) => {
    const whole = isNumber(value) ? truncate(value) : undefined;
    return whole !== undefined && whole % divisor === remainder;
  });
});
