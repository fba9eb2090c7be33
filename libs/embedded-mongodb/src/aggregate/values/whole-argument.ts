import { describe } from '../../bson/describe.js';
import { wholeNumber } from '../../bson/numbers.js';
import type { BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

/** The non-negative whole number that a stage takes. */
export function wholeArgument(stage: string, argument: BsonValue, code: number): number {
  const count = wholeNumber(argument);
  if (count !== undefined && count >= 0) return count;
  throw failureAt(
    code,
    `invalid argument to ${stage} stage: Expected a whole number of at least 0: ${stage}: ${describe(argument)}`,
  );
}
