import { isPlainObject } from '../../fields/index.js';
import { unknownName, OPTION_NAMES } from './option-names.js';

/** Stops the start with a one-sentence error that names the fix. */
export type Fail = (problem: string) => never;

/** Makes the {@link Fail} of a resource from its options. */
export function failFor(options: unknown): Fail {
  const entity = (options as { entity?: unknown } | null | undefined)?.entity;
  const name = typeof entity === 'function' ? entity.name : String(entity);
  return (problem) => {
    throw new Error(`CrudModule.forFeature(${name}): ${problem}`);
  };
}

/** Checks that a value is an object with known names only. */
export function checkNames(value: unknown, where: string, known: readonly string[], fail: Fail): void {
  if (!isPlainObject(value)) fail(`${where} must be an object. It takes ${known.join(', ')}.`);
  const stray = Object.keys(value as object).find((name) => !known.includes(name));
  if (stray !== undefined) fail(unknownName(where, stray, known));
}

/** @throws Error through `fail` if `unkept` is not a list of names */
export function checkUnkept(unkept: unknown, where: string, fail: (problem: string) => never): void {
  if (unkept === undefined) return;
  if (Array.isArray(unkept) && unkept.every((name) => typeof name === 'string' && name !== '')) return;
  fail(`${where}.unkept must be a list of the answer's members, such as ["secret"].`);
}

/** Checks the shape of the option `query`. The definition checks that its paths exist. */
export function checkQuery(query: unknown, fail: Fail): void {
  if (query === undefined) return;
  checkNames(query, 'query', OPTION_NAMES.query, fail);
  const { filter = [], sort = [], search = [] } = query as Readonly<Record<string, unknown>>;
  if (!isListOf(filter, isPath)) fail("query.filter must be a list of fields, such as ['title', 'price'].");
  const twice = filter.find((path, i) => filter.indexOf(path) < i);
  if (twice !== undefined) fail(`query.filter names "${twice}" twice. Remove one.`);
  if (!isListOf(sort, (keys) => isKey(keys) || (isListOf(keys, isKey) && hasDistinctFields(keys)))) {
    fail("query.sort must be a list of orders, such as ['-createdAt', ['completed', 'dueAt']].");
  }
  if (!isListOf(search, isPath) || new Set(search).size < search.length) {
    fail("query.search must be a list of distinct fields, such as ['title', 'description'].");
  }
}

function isListOf<T>(value: unknown, isEntry: (entry: unknown) => entry is T): value is T[];
function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): value is unknown[];
function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && /^\w+(\.\w+)*$/.test(value);
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && isPath(value.replace(/^-/, ''));
}

function hasDistinctFields(keys: readonly string[]): boolean {
  const paths = keys.map((key) => key.replace(/^-/, ''));
  return keys.length > 0 && new Set(paths).size === keys.length;
}
