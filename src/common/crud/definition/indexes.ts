import {
  isDeclared,
  isHidden,
  isInMap,
  listsOn,
  schemaOf,
  typesOn,
  withOneList,
} from '../schema/schema-paths.js';
import { isDeepStrictEqual } from 'node:util';
import type { IndexOptions, Schema } from 'mongoose';
import { replacing } from '../../database/index.js';
import { isPlainObject } from '../../fields/index.js';
import { ANY_OF, fieldSets } from '../../tenancy/index.js';
import type { CrudDefinition } from './crud-definition.js';
import { NEWEST_FIRST, type Order, sortOf } from './query-definition.js';
import { showsStored } from './output.js';

type Keys = Readonly<Record<string, unknown>>;

/** Adds the indexes that serve the reads of a resource to its schema, and limits those that are unique. */
export function addIndexes(definition: CrudDefinition): void {
  const { schema, visible, isolation, archive, archivedIsolation, query } = definition;
  limitUnique(definition);
  // An index can have the entries of one list only.
  const index = (keys: Record<string, 1 | -1>, options?: IndexOptions) => {
    const fitting = withOneList(schema, keys);
    if (!hasIndex(schema, fitting, options)) schema.index(fitting, options);
  };
  const fixed = Object.keys(visible);
  const live = archive ? [...fixed, archive.field] : fixed;
  const isOfLive = ({ keys }: Order) => keys.every(({ path }) => path !== archive?.field);
  for (const { keys } of readIndexes(live, isolation, query.indexed.filter(isOfLive))) index(keys);
  if (!archive) return;
  const partial = { partialFilterExpression: archive.only };
  for (const { keys, order } of readIndexes(fixed, archivedIsolation, query.indexed)) {
    index(keys);
    // An index of archived records only, since they may be few among many.
    if (isOfLive(order)) index({ ...keys, [archive.field]: 1 }, partial);
  }
}

/** Indexes for every order of the list and for the count, which may be scoped by other fields. Equality comes first. */
function readIndexes(fixed: string[], { get, count }: CrudDefinition['isolation'], orders: readonly Order[]) {
  const keysOf = (set: readonly string[]) =>
    Object.fromEntries([...fixed, ...set].map((field) => [field, 1 as const]));
  const idOf = (set: readonly string[]) => set.toSorted().join();
  const listed = fieldSets(get);
  const others = fieldSets(count).filter((set) => !listed.map(idOf).includes(idOf(set)));
  const indexes = [
    ...orders.flatMap((order) => listed.map((set) => ({ set, order }))),
    ...others.map((set) => ({ set, order: NEWEST_FIRST })),
  ];
  return indexes.map(({ set, order }) => ({ keys: { ...keysOf(set), ...sortOf(order) }, order }));
}

/** Whether a schema has an index of its own that serves the same reads, whatever its name. */
function hasIndex(schema: Schema, keys: Keys, { partialFilterExpression }: IndexOptions = {}): boolean {
  const wanted = [Object.entries(keys), partialFilterExpression];
  return schema.indexes().some(([own, { sparse, collation, ...options }]) => {
    const given = [Object.entries(own), options.partialFilterExpression];
    return isDeepStrictEqual(given, wanted) && !sparse && !collation;
  });
}

/**
 * Makes unique values unique among the live records of one scope: the value of an archived record is free, and
 * nobody learns of a value, or is kept from one, by a record of others.
 */
function limitUnique(definition: CrudDefinition): void {
  const { archive, fail, inputFields, isolation, schema } = definition;
  const globallyUnique: readonly string[] = definition.options.globallyUnique ?? [];
  const readers = fieldSets(isolation.get).flat();
  const indexes = schema.indexes().map(([keys, options]) => {
    const isGlobal = Object.keys(keys).every((key) => globallyUnique.includes(key));
    const added = isGlobal || !options.unique ? [] : missingFields(keys, definition);
    checkLists(definition, keys, added);
    const isTold = (at: string) => inputFields.includes(at) && readers.includes(at) && listsOn(schema, at)[0];
    const list = [...added, ...Object.keys(keys)].find(isTold);
    if (options.unique && !isGlobal && list !== undefined)
      fail(`unique ${JSON.stringify(keys)} tells those who write "${list}" of others. Use globallyUnique.`);
    return { keys, added, options: limited(definition, keys, added, options) };
  });
  if (!indexes.some(({ added }) => archive || added.length > 0)) return;
  schema.clearIndexes();
  for (const type of Object.values(schema.paths)) {
    type.index(false);
    Object.assign(type.options, { excludeIndexes: true });
  }
  for (const { keys, added, options } of indexes) {
    const all = { ...Object.fromEntries(added.map((field) => [field, 1] as const)), ...keys };
    schema.index(all, added.length > 0 ? replacing(keys, options) : options);
  }
}

function missingFields(keys: Keys, definition: CrudDefinition): string[] {
  const { schema, isolation } = definition;
  const { create, get } = isolation;
  const writers = Object.keys(create);
  // Of those who may read by different fields, the ones that created the records decide.
  const read = [...new Set(Object.keys(get).flatMap((field) => (field === ANY_OF ? writers : [field])))];
  const all = [...new Set([...read, ...writers])];
  const isNamed = (field: string) => field in keys;
  // Its author has said where the values are unique, and whoever meets one there may read its record.
  if (all.some(isNamed) && read.every(isNamed)) return [];
  const isSecret = (key: string) => isHidden(schema, key) || showsStored(definition, key) === false;
  const isShown = read.length > 0 && !Object.keys(keys).some(isSecret);
  return (isShown ? read : all).filter((field) => !isNamed(field));
}

/** An index that is partial, or has another field, must say itself that records without a value are free. */
function limited({ archive }: CrudDefinition, keys: Keys, added: string[], given: IndexOptions) {
  if (!given.unique || (!archive && added.length === 0)) return given;
  const { sparse, name, partialFilterExpression, ...options } = given;
  const present = Object.keys(keys).map((key) => ({ [key]: { $exists: true } }));
  const partial = {
    ...archive?.live,
    ...(sparse && (present.length > 1 || archive ? { $or: present } : present[0])),
    ...(partialFilterExpression as object | undefined),
  };
  return {
    ...options,
    // The index that this one replaces has the name until this one is built.
    ...(name !== undefined && { name: [...added, name].join('_') }),
    ...(Object.keys(partial).length > 0 && { partialFilterExpression: partial }),
  };
}

/** Checks that the schema has every field that its indexes name. MongoDB would index nothing, without an error. */
export function checkIndexes({ schema, fail }: CrudDefinition): void {
  for (const [keys, options] of schema.indexes()) {
    const unknownPath = namesIn(keys, options).find((path) => !hasPath(schema, path));
    if (unknownPath !== undefined)
      fail(`the index ${JSON.stringify(keys)} names "${unknownPath}", which the schema does not have.`);
  }
}

/** Checks that only one field of an index is a list, or one in another. @param added isolation fields that come first */
function checkLists({ schema, fail }: CrudDefinition, keys: Keys, added: readonly string[]): void {
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

function namesIn(keys: Keys, options: IndexOptions): string[] {
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
  const inner = typesOn(schema, declared).map(([, type]) => type && schemaOf(type));
  // Where there are several schemas, or an open one, any field may be there.
  const isOpen = [schema, ...inner].some((one) => one?.discriminators ?? one?.get('strict') === false);
  return (
    isOpen ||
    isInMap(schema, declared) ||
    isDeclared(schema, declared) ||
    [schema.get('versionKey'), schema.get('discriminatorKey')].includes(declared)
  );
}
