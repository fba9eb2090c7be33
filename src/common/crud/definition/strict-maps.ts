import type { Schema, SchemaType } from 'mongoose';

/** Mongoose types that convert other JSON values, such as 12 to "12". */
const COERCING = ['String', 'Number', 'Boolean'];

interface Composite {
  schema?: Schema;
  $__schemaType?: SchemaType;
  castFunction(caster: false): unknown;
}

/**
 * Makes the maps of a schema reject entries of another type. The entries of a map are the one part of a body
 * that the input class does not validate, and Mongoose would convert them.
 */
export function refuseCoercionInMaps(schema: Schema, seen = new Set<Schema>()): Schema {
  // A schema may contain itself.
  if (seen.has(schema)) return schema;
  seen.add(schema);
  for (const [path, type] of Object.entries(schema.paths)) {
    const { schema: nested, $__schemaType: entries } = type as SchemaType & Composite;
    if (nested) refuseCoercionInMaps(nested, seen);
    for (const entry of [entries, path.endsWith('.$*') ? type : undefined]) {
      if (entry && COERCING.includes(entry.instance)) (entry as SchemaType & Composite).castFunction(false);
    }
  }
  return schema;
}
