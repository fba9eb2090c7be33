import type { BsonValue } from '../bson/types.js';
import { encodeKey } from '../bson/key.js';

/** A text that two values share exactly when MongoDB takes them for equal: numbers by value, whatever their types. */
export function groupKey(value: BsonValue): string {
  return encodeKey(value).toString('latin1');
}
