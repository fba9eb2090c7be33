import type { Schema, SchemaType } from 'mongoose';

type Fields = Record<string, unknown>;

/** Members of Mongoose's list, map and subdocument types that their common class lacks. */
export interface Composite {
  schema?: Schema;
  embeddedSchemaType?: SchemaType;
  $__schemaType?: SchemaType;
}

/** Whether a schema hides a field with `select: false`, at any level. */
export function hidesFields(schema: Schema, seen: ReadonlySet<Schema> = new Set()): boolean {
  if (seen.has(schema)) return false;
  const inside = new Set([...seen, schema]);
  return Object.values(schema.paths).some((type) => {
    const inner = schemaOf(type);
    return isHiddenType(type) || (inner !== undefined && hidesFields(inner, inside));
  });
}

/**
 * Removes the fields that a schema hides from a record, in place: reads omit them, results of writes do not.
 */
export function hideFields<Record extends object>(schema: Schema, record: Record): Record {
  eachHidden(schema, record, (holder, name) => Reflect.deleteProperty(holder, name));
  return record;
}

/** Visits the fields that a schema hides, whether a record has them or not, at every level that it has. */
export function eachHidden(
  schema: Schema,
  record: object,
  visit: (holder: object, name: string) => void,
): void {
  for (const [path, type] of Object.entries(schema.paths)) {
    const names = path.split('.');
    const last = names.pop() ?? path;
    const holder = names.reduce<unknown>((at, name) => (at as Fields | undefined)?.[name], record);
    if (typeof holder !== 'object' || holder === null) continue;
    if (isHiddenType(type)) visit(holder, last);
    else eachHiddenInside(schemaOf(type), (holder as Fields)[last], visit);
  }
}

function eachHiddenInside(
  schema: Schema | undefined,
  value: unknown,
  visit: (holder: object, name: string) => void,
): void {
  if (!schema || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) for (const entry of value) eachHiddenInside(schema, entry, visit);
  else if (value instanceof Map) for (const entry of value.values()) eachHiddenInside(schema, entry, visit);
  else eachHidden(schema, value, visit);
}

/** The schema of a type's objects: its own, or that of its entries. */
export function schemaOf(type: SchemaType): Schema | undefined {
  const { schema, embeddedSchemaType, $__schemaType: entries } = type as SchemaType & Composite;
  const inner = entries ?? embeddedSchemaType;
  return schema ?? (inner && schemaOf(inner));
}

/** The type of a list's entries; undefined if the type is not a list. */
export function entryTypeOf(type: SchemaType | undefined): SchemaType | undefined {
  if (type?.instance !== 'Array') return undefined;
  return (type as SchemaType & Composite).embeddedSchemaType ?? type;
}

/** Whether a schema hides values of a type. */
export function isHiddenType(type: SchemaType): boolean {
  return (type.options as { select?: boolean }).select === false;
}

/** A path and those above it, the outermost first. */
export function prefixesOf(path: string): string[] {
  const names = path.split('.');
  return names.map((_, i) => names.slice(0, i + 1).join('.'));
}

/** Whether a path leads into a map or an open object, where names are data. */
export function isOpen(schema: Schema, path: string): boolean {
  return prefixesOf(path)
    .slice(0, -1)
    .some((prefix) =>
      ['Map', 'Mixed'].includes((schema.path(prefix) as SchemaType | undefined)?.instance ?? ''),
    );
}

/** Whether a schema hides a path from clients: `select: false` on it or above it, or the revision. */
export function isHidden(schema: Schema, path: string): boolean {
  return prefixesOf(path).some(
    (prefix) =>
      (schema.path(prefix) as SchemaType | undefined)?.options.select === false ||
      prefix === schema.get('versionKey'),
  );
}

/** Whether a schema has a path. Mongoose itself accepts positions in lists as well. */
export function isDeclared(schema: Schema, path: string): boolean {
  const isPosition = path.split('.').some((name) => /^\d+$/.test(name));
  const type = schema.path(path) as SchemaType | undefined;
  return !isPosition && (type !== undefined || schema.pathType(path) === 'nested');
}

/** The lists that a path leads into or ends at, the outermost first. */
export function listsOn(schema: Schema, path: string): string[] {
  const names = path.split('.').filter((name) => !/^\d+$/.test(name));
  return prefixesOf(names.join('.')).filter((prefix) => entryTypeOf(schema.path(prefix)));
}
