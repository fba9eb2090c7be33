import type { Schema, SchemaType } from 'mongoose';

/** Whether a schema hides a path from clients: `select: false` on it or above it, or the revision. */
export function isHidden(schema: Schema, path: string): boolean {
  const names = path.split('.');
  const prefixes = names.map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.some(
    (prefix) =>
      (schema.path(prefix) as SchemaType | undefined)?.options.select === false ||
      prefix === schema.get('versionKey'),
  );
}
