import { describe } from '../../bson/describe.js';
import { toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

/** The whole number of at least 0 that a stage takes. */
export function wholeArgument(stage: string, argument: BsonValue, code: number): number {
  const wrong = (expected: string): Error =>
    failureAt(code, `invalid argument to ${stage} stage: ${expected}: ${stage}: ${describe(argument)}`);
  if (!isNumber(argument)) throw wrong('Expected a number in');
  const count = toDouble(argument);
  if (!Number.isInteger(count)) throw wrong('Expected an integer');
  if (count < 0) throw wrong('Expected a non-negative number in');
  return count;
}
