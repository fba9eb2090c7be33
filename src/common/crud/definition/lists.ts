import type { Schema } from 'mongoose';
import { entryTypeOf } from '../store/hide-fields.js';

/** The lists that a path leads into or ends at, the outermost first. */
export function listsOn(schema: Schema, path: string): string[] {
  const names = path.split('.').filter((name) => !/^\d+$/.test(name));
  const prefixes = names.map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.filter((prefix) => entryTypeOf(schema.path(prefix)));
}
