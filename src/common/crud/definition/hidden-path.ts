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

/** Whether a schema has a path. Mongoose itself accepts positions in lists as well. */
export function isDeclared(schema: Schema, path: string): boolean {
  const isPosition = path.split('.').some((name) => /^\d+$/.test(name));
  const type = schema.path(path) as SchemaType | undefined;
  return !isPosition && (type !== undefined || schema.pathType(path) === 'nested');
}
