import { isPlainObject } from './plain-object.js';

/**
 * Applies a merge patch to a value (RFC 7396, section 2) without changing either. Dates, BSON values and
 * lists are replaced as a whole.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch;
  const merged = new Map(isPlainObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
