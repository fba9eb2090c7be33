import type { IndexDefinition, IndexOptions, Schema } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { Fail } from '../options/checks.js';
import { nearest } from '../options/option-names.js';
import { listsOn, nodesOf, type SchemaNode, type SchemaNodes } from './schema-paths.js';

/** Types whose values have no members. Every other one, such as Mixed, may have any. */
const SINGLE = 'String UUID Number Int32 Double BigInt Decimal128 Boolean Date ObjectId Buffer'.split(' ');

/** Checks that the schema has every field that its indexes name. MongoDB would index nothing, without an error. */
export function checkIndexes(schema: Schema, fail: Fail): void {
  for (const [keys, options] of schema.indexes()) {
    const unknownPath = namesIn(keys, options).find((path) => !hasPath(schema, path.split('.')));
    if (unknownPath === undefined) continue;
    const near = nearest(unknownPath, pathsOf(nodesOf(schema)));
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`;
    fail(`the index ${JSON.stringify(keys)} names "${unknownPath}", which the schema does not have.${hint}`);
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
  const kept = [schema.get('versionKey'), schema.get('discriminatorKey')];
  if (schema.get('strict') === false || kept.includes(names.join('.'))) return true;
  if (canHave({ members: nodesOf(schema) }, names)) return true;
  return Object.values(schema.discriminators ?? {}).some((inner) => hasPath(inner, names));
}

function canHave({ entries, members, schema, type }: Partial<SchemaNode>, names: readonly string[]): boolean {
  const [name, ...rest] = names;
  if (name === undefined || type?.instance === 'Map') return true;
  // A number is a position in a list.
  if (type?.instance === 'Array' && /^\d+$/.test(name)) return canHave({ entries, members, schema }, rest);
  if (schema) return hasPath(schema, names);
  if (entries) return canHave(entries, names);
  if (!members) return !SINGLE.includes(type?.instance ?? '');
  const member = members.get(name);
  return member !== undefined && canHave(member, rest);
}

/** The paths of a schema and of the schemas in it, up to some depth. */
function pathsOf(nodes: SchemaNodes, depth = 4): string[] {
  return [...nodes].flatMap(([name, { entries, members = entries?.members }]) => [
    name,
    ...(members && depth > 0 ? pathsOf(members, depth - 1).map((path) => `${name}.${path}`) : []),
  ]);
}
