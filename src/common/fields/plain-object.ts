/** Whether a value is an object with members, rather than an array, a date or a BSON value. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  if (value instanceof Date || value instanceof Map || value instanceof Set) return false;
  if (ArrayBuffer.isView(value)) return false;
  // A body's own "_bsontype" is an ordinary field: only values made by code have one through their class.
  return !('_bsontype' in value) || Object.hasOwn(value, '_bsontype');
}

/** Applies a merge patch to a value (RFC 7396, section 2), without changing either. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlainObject(patch)) return patch;
  const merged = new Map(isPlainObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
