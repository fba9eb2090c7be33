import type { BsonValue } from '../../bson/types.js';

/** Arguments as a list, also where there is one alone. */
export function listOf(argument: BsonValue): BsonValue[] {
  return Array.isArray(argument) ? argument : [argument];
}
