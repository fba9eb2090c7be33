import type { BsonValue } from '../bson/types.js';
import { encodeKey } from '../bson/key.js';

/** A text that two values share exactly when MongoDB takes them for equal: numbers by value, whatever their types. */
export function groupKey(value: BsonValue): string {
  // Strings, the commonest, equal nothing else; the first character is none that a key's bytes give.
  return typeof value === 'string' ? `\u0100${value}` : encodeKey(value).toString('latin1');
}
