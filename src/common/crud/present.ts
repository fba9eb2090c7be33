import { Types } from 'mongoose';
import type { Presented, Stored } from './crud-options.interface.js';

/** Which fields of a record a client may see. */
export interface Presentation {
  /** The visible fields, in the order of the response; `_id` comes first. */
  readonly fields: readonly string[];
  /** Nested paths, such as `author.password`, that the schema hides with `select: false`. */
  readonly hiddenPaths: readonly string[];
}

/** A record as clients see it: declared fields alone, identifiers as strings, nothing where there is nothing. */
export function present<Entity extends object>(
  record: Stored<Entity>,
  { fields, hiddenPaths }: Presentation,
): Presented<Entity> {
  const source = record as Record<string, unknown>;
  const presented: Record<string, unknown> = {};
  for (const field of fields) {
    const value = source[field];
    if (value === undefined || value === null) continue;
    presented[field] = value instanceof Types.ObjectId ? value.toHexString() : value;
  }
  return (hiddenPaths.length === 0 ? presented : without(presented, hiddenPaths)) as Presented<Entity>;
}

function without(record: Record<string, unknown>, paths: readonly string[]): Record<string, unknown> {
  const copy = structuredCloneOfJson(record);
  for (const path of paths) remove(copy, path.split('.'));
  return copy;
}

function structuredCloneOfJson(value: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

function remove(value: unknown, [head, ...tail]: readonly string[]): void {
  if (Array.isArray(value)) {
    for (const entry of value) remove(entry, [head ?? '', ...tail]);
  } else if (typeof value === 'object' && value !== null && head !== undefined) {
    const parent = value as Record<string, unknown>;
    if (tail.length === 0) Reflect.deleteProperty(parent, head);
    else remove(parent[head], tail);
  }
}
