import { truncate } from '../../bson/numbers.js';
import { isNumber } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { condition } from '../../query/condition.js';
import { fieldOperators } from '../../query/operators.js';

/** The remainder of a division of whole numbers. */
fieldOperators.define('$mod', (argument) => {
  const given = Array.isArray(argument) ? argument : [];
  const [divisor, remainder] = given.map((each) => (isNumber(each) ? truncate(each) : undefined));
  if (given.length !== 2 || divisor === undefined || remainder === undefined)
    throw failure('BadValue', 'malformed mod, needs to be an array of two numbers: [divisor, remainder]');
  if (divisor === 0n) throw failure('BadValue', 'divisor cannot be 0');
  return condition((value) => {
    const whole = isNumber(value) ? truncate(value) : undefined;
    return whole !== undefined && whole % divisor === remainder;
  });
});
