import type { BsonValue } from '../../bson/types.js';

/** Arguments as a list, even if there is only one. */
export function listOf(argument: BsonValue): BsonValue[] {
  return Array.isArray(argument) ? argument : [argument];
}
