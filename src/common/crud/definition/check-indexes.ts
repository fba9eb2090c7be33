import type { IndexDefinition, IndexOptions, Schema, SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { Fail } from '../options/checks.js';
import { nearest } from '../options/option-names.js';
import { entryTypeOf, listsOn, schemaOf } from './schema-paths.js';

/** Types whose values have no members. Every other one, such as Mixed, may have any. */
const SINGLE = 'String UUID Number Int32 Double BigInt Decimal128 Boolean Date ObjectId Buffer'.split(' ');

/** Checks that the schema has every field that its indexes name. MongoDB would index nothing, without an error. */
export function checkIndexes(schema: Schema, fail: Fail): void {
  for (const [keys, options] of schema.indexes()) {
    const stray = namesIn(keys, options).find((path) => !hasPath(schema, path.split('.')));
    if (stray === undefined) continue;
    const near = nearest(stray, pathsOf(schema));
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`;
    fail(`the index ${JSON.stringify(keys)} names "${stray}", which the schema does not have.${hint}`);
  }
}

/**
 * Checks that records can have all fields of an index, of which only one can be a list, or one in another.
 *
 * @param added the isolation fields that come before the keys of its author
 */
export function checkLists(
  schema: Schema,
  keys: IndexDefinition,
  added: readonly string[],
  fail: Fail,
): void {
  const whole = { ...Object.fromEntries(added.map((field) => [field, 1])), ...keys };
  const paths = Object.entries(whole).filter(([, kind]) => typeof kind === 'number');
  const lists = [...new Set(paths.flatMap(([path]) => listsOn(schema, path)))].sort(byLength);
  const at = lists.findIndex((list, i) => i > 0 && !list.startsWith(`${lists[i - 1]}.`));
  if (at === -1) return;
  const names = JSON.stringify(Object.keys(keys));
  const remedy =
    added.length === 0
      ? 'Leave one of them out.'
      : `It begins with the isolation fields, since it is unique. Remove unique: true, or write globallyUnique: ${names}.`;
  fail(
    `the index ${JSON.stringify(whole)} has two lists, "${lists[at - 1]}" and "${lists[at]}", and a record with both could not be stored. ${remedy}`,
  );
}

const byLength = (one: string, other: string) => one.split('.').length - other.split('.').length;

/** The paths that an index names. */
function namesIn(keys: IndexDefinition, options: IndexOptions): string[] {
  const { weights, wildcardProjection, partialFilterExpression } = options;
  const named = [keys, weights, wildcardProjection].flatMap((names) => Object.keys(names ?? {}));
  return [...named, ...namesInFilter(partialFilterExpression)].flatMap((path) => {
    // A wildcard stands for everything below.
    const [fixed = ''] = path.split(/\.?\$/, 1);
    return fixed === '' ? [] : [fixed];
  });
}

function namesInFilter(filter: unknown): string[] {
  if (!isPlainObject(filter)) return [];
  return Object.entries(filter as object).flatMap(([name, value]) =>
    name.startsWith('$') && Array.isArray(value) ? value.flatMap(namesInFilter) : [name],
  );
}

/** Whether records can have a path, by its names. */
function hasPath(schema: Schema, names: readonly string[]): boolean {
  const path = names.join('.');
  const kept = ['_id', schema.get('versionKey'), schema.get('discriminatorKey')];
  if (schema.get('strict') === false || schema.pathType(path) === 'nested' || kept.includes(path))
    return true;
  const at = names.findIndex((_, i) => names.slice(0, i + 1).join('.') in schema.paths);
  const type = schema.paths[names.slice(0, at + 1).join('.')];
  if (type && canHave(type, names.slice(at + 1))) return true;
  return Object.values(schema.discriminators ?? {}).some((inner) => hasPath(inner, names));
}

function canHave(type: SchemaType, names: readonly string[]): boolean {
  const entries = entryTypeOf(type);
  // A number is a position in a list.
  const members = entries && /^\d+$/.test(names[0] ?? '') ? names.slice(1) : names;
  if (members.length === 0 || type.instance === 'Map') return true;
  const inner = schemaOf(type);
  if (inner) return hasPath(inner, members);
  return entries && entries !== type ? canHave(entries, members) : !SINGLE.includes(type.instance);
}

/** The paths of a schema and of the schemas in it. */
function pathsOf(schema: Schema, seen: ReadonlySet<Schema> = new Set()): string[] {
  if (seen.has(schema)) return [];
  const inside = new Set([...seen, schema]);
  return Object.entries(schema.paths).flatMap(([path, type]) => {
    const inner = schemaOf(type);
    return [path, ...(inner ? pathsOf(inner, inside).map((name) => `${path}.${name}`) : [])];
  });
}
