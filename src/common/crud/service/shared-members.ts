import type { Schema, SchemaType } from 'mongoose';
import { isHidden, schemaOf } from '../store/hide-fields.js';

type Fields = Record<string, unknown>;

/** The members of an object that another schema has as well, of the same type, and hides if this one does. */
export function sharedMembers(from: Schema, to: Schema, object: Fields): Fields {
  if (from === to) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => isShared(from, to, name)));
}

function isShared(from: Schema, to: Schema, name: string, seen: ReadonlySet<Schema> = new Set()): boolean {
  const paths = Object.entries(from.paths).filter(([path]) => path === name || path.startsWith(`${name}.`));
  const isSame = ([path, type]: [string, SchemaType]) => isAlike(type, to.path(path), seen);
  return paths.length > 0 && paths.every(isSame);
}

function isAlike(one: SchemaType, other: SchemaType | undefined, seen: ReadonlySet<Schema>): boolean {
  if (one.instance !== other?.instance || isHidden(one) !== isHidden(other)) return false;
  const [from, to] = [schemaOf(one), schemaOf(other)];
  if (!from || !to || from === to || seen.has(from)) return from === to || (from && to) !== undefined;
  const within = new Set([...seen, from]);
  return Object.keys(from.paths).every((path) => isAlike(from.path(path), to.path(path), within));
}
