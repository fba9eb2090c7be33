import type { BsonValue } from '../bson/types.js';
import { encodeKey } from '../bson/key.js';

/**
 * A text that two values share exactly if MongoDB considers them equal: numbers by value, whatever their
 * types.
 */
export function groupKey(value: BsonValue): string {
  // Strings, the most common values, equal nothing else. The first character cannot come from a key's bytes.
  return typeof value === 'string' ? `\u0100${value}` : encodeKey(value).toString('latin1');
}
