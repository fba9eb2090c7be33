import type { IndexDefinition, IndexOptions, Schema, SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { CrudDefinition } from './crud-definition.js';
import { isDeclared, isInMap, listsOn, prefixesOf, schemaOf } from './schema-paths.js';

/** Checks that the schema has every field that its indexes name. MongoDB would index nothing, without an error. */
export function checkIndexes({ schema, fail }: CrudDefinition): void {
  for (const [keys, options] of schema.indexes()) {
    const unknownPath = namesIn(keys, options).find((path) => !hasPath(schema, path));
    if (unknownPath !== undefined)
      fail(`the index ${JSON.stringify(keys)} names "${unknownPath}", which the schema does not have.`);
  }
}

/**
 * Checks that records can have all fields of an index, of which only one can be a list, or one in another.
 *
 * @param added the isolation fields that come before the keys of its author
 */
export function checkLists(
  { schema, fail }: CrudDefinition,
  keys: IndexDefinition,
  added: readonly string[],
): void {
  const sorted = Object.keys(keys).filter((path) => typeof keys[path] === 'number');
  const lists = [...new Set([...added, ...sorted].flatMap((path) => listsOn(schema, path)))].sort(byLength);
  const at = lists.findIndex((list, i) => i > 0 && !list.startsWith(`${lists[i - 1]}.`));
  if (at === -1) return;
  const names = [...added, ...Object.keys(keys)].join(', ');
  fail(
    `the index of ${names} has two lists, "${lists[at - 1]}" and "${lists[at]}", and a record with both could not be stored. Leave one of them out, or, if it begins with isolation fields since it is unique, write globallyUnique.`,
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
  return Object.entries(filter).flatMap(([name, value]) =>
    name.startsWith('$') && Array.isArray(value) ? value.flatMap(namesInFilter) : [name],
  );
}

/** Whether records can have a path, which may name positions in lists. */
function hasPath(schema: Schema, path: string): boolean {
  const names = path.split('.').filter((name) => !/^\d+$/.test(name));
  const declared = names.join('.');
  const types = prefixesOf(declared).map((prefix) => schema.path(prefix) as SchemaType | undefined);
  // Where there are several schemas, or an open one, any field may be there.
  const isOpen = [schema, ...types.map((type) => type && schemaOf(type))].some(
    (one) => one?.discriminators ?? one?.get('strict') === false,
  );
  return (
    isOpen ||
    isInMap(schema, declared) ||
    isDeclared(schema, declared) ||
    [schema.get('versionKey'), schema.get('discriminatorKey')].includes(declared)
  );
}
