import { identical, keep, type Modifier } from './modifier.js';
import type { BsonValue } from '../bson/types.js';

/** Writes a value; the same value does not count as a change. */
export function setTo(value: BsonValue): Modifier {
  return { missing: 'create', change: (current) => (identical(current, value) ? keep : value) };
}
