import { mongo, type Schema, type SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import { plain } from '../definition/plain.js';
import type { Composite } from '../store/hide-fields.js';
import { valueAt } from './changes.js';
import { type PathChange, withChanges } from './draft-changes.js';

/**
 * The changes with the bytes that a record had. A hook sees them in base64, and Mongoose would store that text
 * in their place if the hook has changed something beside them in a list or a map.
 */
export function withBytesOf(
  record: object,
  schema: Schema,
  changes: readonly PathChange[],
): readonly PathChange[] {
  if (changes.length === 0) return changes;
  const known = new Map(bytesIn(record).map((bytes) => [plain(bytes), bytes]));
  if (known.size === 0) return changes;

  const ofType = (type: SchemaType, value: unknown): unknown => {
    if (type.instance === 'Buffer') return known.get(value) ?? value;
    const { embeddedSchemaType, $__schemaType: valueType, schema: inner } = type as SchemaType & Composite;
    if (Array.isArray(value)) {
      // Mongoose's type of a list of objects is that of its entries as well.
      const entries = embeddedSchemaType ?? type;
      return value.map((entry) => ofType(entries, entry));
    }
    if (!isPlainObject(value)) return value;
    if (valueType) {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, ofType(valueType, one)]));
    }
    return inner ? withChanges(value, membersOf(inner, value, '')) : value;
  };
  const membersOf = (holder: Schema, object: object, parent: string): PathChange[] =>
    Object.entries(holder.paths)
      .filter(([path]) => path.startsWith(parent))
      .map(([path, type]) => [path.slice(parent.length), type] as const)
      .map(([path, type]): PathChange => [path, ofType(type, valueAt(object, path))])
      .filter(([, value]) => value !== undefined);

  return changes.map(([path, value]): PathChange => {
    const type = schema.path(path) as SchemaType | undefined;
    if (type) return [path, ofType(type, value)];
    return [path, isPlainObject(value) ? withChanges(value, membersOf(schema, value, `${path}.`)) : value];
  });
}

/** Every value of bytes in another one. */
function bytesIn(value: unknown): (mongo.Binary | Uint8Array)[] {
  if (value instanceof mongo.Binary || value instanceof Uint8Array) return [value];
  if (Array.isArray(value)) return value.flatMap(bytesIn);
  if (value instanceof Map) return [...value.values()].flatMap(bytesIn);
  return isPlainObject(value) ? Object.values(value).flatMap(bytesIn) : [];
}
