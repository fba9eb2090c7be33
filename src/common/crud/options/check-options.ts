import type { Type } from '@nestjs/common';
import { Schema } from 'mongoose';
import { isProblem } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { ANY_OF } from '../../tenancy/index.js';
import {
  aClass,
  boolean,
  type Check,
  checkMembers,
  checkNames,
  either,
  type Fail,
  failFor,
  failIf,
  integer,
  isListOf,
  listOf,
  object,
  oneOf,
  recordOf,
  requireClass,
  required,
  rule,
  unstored,
} from './checks.js';
import type { AnyCrudOptions } from './crud-options.js';
import { ACTIONS, BATCH_HANDLERS, HANDLERS, HOOKS, unknownName } from './option-names.js';

/** Options that the compiler may not have checked. */
type Raw = Readonly<Record<string, unknown>>;

/** First path segments of the service's own routes. */
const RESERVED_PATHS = ['docs', 'health'];

/** A hundred years. Unit: days. */
const MAX_DAYS = 36_500;

const text = rule((value) => typeof value === 'string' && value !== '', 'a text');

const isGuard = (guard: unknown) =>
  typeof guard === 'function' || (typeof guard === 'object' && guard !== null && 'canActivate' in guard);

const isFunction = (value: unknown) => typeof value === 'function';

const isString = (value: unknown) => typeof value === 'string';

/** The checks of what every route takes. */
export const ROUTE = {
  guards: listOf(isGuard, 'a list of guards'),
  decorators: listOf(isFunction, "a list of method decorators, such as [Roles('admin')]"),
  summary: rule(isString, 'a text'),
  response: aClass,
  errors: listOf(isProblem, 'a list of codes, such as "WRITE_CONFLICT", or of statuses'),
  unstored,
};

const PREDICATE = "a function of the caller, such as hasRole('hr')";

const REFERENCE = object({
  to: required(aClass),
  check: oneOf('exists', 'sameScope', false),
  onDelete: oneOf('restrict', 'cascade', 'unset', 'ignore'),
});

const OUTPUT = object({
  type: aClass,
  from: rule(isFunction, 'a function of the record and the caller', true),
  hides: listOf(isString, 'a list of fields; write [] if the function hides none'),
});

const INPUT = object({ create: required(aClass), update: required(aClass) });

const AUDIT: Check = (audit, where, fail) => {
  rule(isPlainObject, 'true, false or { keptDays }')(audit, where, fail);
  object({ keptDays: integer(1, MAX_DAYS) })(audit, where, fail);
};

/** The check of every option. Those that take several together follow, and the definition asks the entity's fields. */
const OPTIONS: { readonly [Name in keyof Required<AnyCrudOptions>]: Check } = {
  entity: required(aClass),
  input: required((input, where, fail) => (isPlainObject(input) ? INPUT : aClass)(input, where, fail)),
  name: required((name, _where, fail) => {
    if (typeof name === 'string' && /^[a-z][\w-]*$/i.test(name)) return;
    fail(`the name "${String(name)}" is not a word. Use letters, digits, - and _.`);
  }),
  path: (path, _where, fail) => {
    if (path === undefined || (typeof path === 'string' && /^:?[\w-]+(\/:?[\w-]+)*$/.test(path))) return;
    fail(`the path "${String(path)}" is not a path. Write it like "posts/api".`);
  },
  tag: text,
  security: text,
  schema: rule(
    (value) => value instanceof Schema,
    'a Mongoose schema, such as SchemaFactory.createForClass(Note) makes',
  ),
  kinds: recordOf(aClass, 'an object, such as { seasonal: SeasonalInput, weekday: WeekdayInput }'),
  writeOnly: rule(Array.isArray, 'a list of input fields'),
  output: either(isFunction, OUTPUT),
  parent: object({
    entity: required(aClass),
    param: rule(isString, 'the name of a parameter of the path, such as "postId"', true),
    field: rule(isString, 'the name of the field that refers to the parent', true),
  }),
  disable: (disable = [], where, fail) => {
    if (!Array.isArray(disable)) fail(`disable must be a list of actions: ${ACTIONS.join(', ')}.`);
    const unknownAction = (disable as unknown[]).find(
      (action) => !(ACTIONS as readonly unknown[]).includes(action),
    );
    if (unknownAction !== undefined) fail(unknownName(where, String(unknownAction), ACTIONS));
  },
  isolationFields: checkIsolation,
  globallyUnique: rule(Array.isArray, 'a list of fields'),
  visible: recordOf(
    rule(
      (value) => value === null || ['string', 'number', 'boolean'].includes(typeof value),
      'a text, a number, true, false or null',
      true,
    ),
    'an object of fields and values, such as { deletedAt: null }',
  ),
  // The definition checks that nothing else tells of them.
  fields: recordOf(
    object({ read: rule(isFunction, PREDICATE), write: rule(isFunction, PREDICATE) }),
    "an object, such as { salary: { read: hasRole('hr') } }",
  ),
  // The definition checks that it names a date of the entity.
  archive: object({ field: () => undefined }),
  list: object({ unpaged: boolean, maxLimit: integer(1) }),
  query: checkQuery,
  bulk: boolean,
  import: boolean,
  // The definition checks it, with what else events ask of the resource.
  events: () => undefined,
  audit: either((value) => typeof value === 'boolean', AUDIT),
  references: recordOf(REFERENCE, 'an object, such as { category: { to: Category } }'),
  hooks: checkHooks,
  routes: object(eachOf([...HANDLERS, ...BATCH_HANDLERS], object(ROUTE))),
};

/** The check of every member of the second argument of `forFeature`. */
const OVERRIDES = {
  controller: aClass,
  service: aClass,
  providers: checkInjected,
  imports: checkInjected,
};

function eachOf(names: readonly string[], check: Check): Record<string, Check> {
  return Object.fromEntries(names.map((name) => [name, check]));
}

/**
 * Checks the names and shapes of the options. The definition checks them against the entity's fields.
 *
 * @throws Error that names the fix
 */
export function checkOptions(options: AnyCrudOptions, fail: Fail): void {
  const raw = options as unknown as Raw;
  if (!isPlainObject(raw)) fail('the options are missing. Pass { entity, input, name }.');
  checkNames(raw, 'CrudOptions', Object.keys(OPTIONS), fail);
  checkMembers(raw, OPTIONS, '', fail);
  checkPath(options, fail);
  checkRoutes(options, fail);
}

/** Checks that the options name an entity. Runs before the other checks, which need one. */
export function requireEntity(options: unknown): void {
  const fail = failFor(options);
  if (!isPlainObject(options)) fail('the options are missing. Pass { entity, input, name }.');
  requireClass((options as Raw).entity, 'entity', fail);
}

/** Checks the second argument of `forFeature`. */
export function checkOverrides(overrides: object, fail: Fail): void {
  checkNames(overrides, 'the second argument', Object.keys(OVERRIDES), fail);
  checkMembers(overrides, OVERRIDES, '', fail);
}

function checkInjected(list: unknown, where: string, fail: Fail): void {
  if (list === undefined) return;
  if (!Array.isArray(list)) fail(`${where} must be a list.`);
  const missing = (list as unknown[]).indexOf(undefined);
  if (missing < 0) return;
  fail(
    `${where}[${missing}] is undefined. If it is imported from a file that imports this one, break that cycle.`,
  );
}

/** A value of another shape would isolate nothing and make the resource public: so would undefined. */
function checkIsolation(isolationFields: unknown, where: string, fail: Fail): void {
  checkNames(isolationFields, where, ['all', ...ACTIONS], fail);
  for (const [action, fields] of Object.entries(isolationFields)) {
    failIf(fail, `isolationFields.${action} `, {
      'must name a field and its source, such as { tenant: currentTenant }.':
        !isPlainObject(fields) || Object.keys(fields).length === 0,
      'is anyOf, which is for get and count: a write must know whose a record is. Name its fields.':
        isPlainObject(fields) && ANY_OF in fields && action !== 'get' && action !== 'count',
    });
    for (const [field, source] of Object.entries(fields as object)) {
      if (typeof source !== 'function')
        fail(`isolationFields.${action}.${field} must be a function, such as currentTenant or claim('sub').`);
    }
  }
}

function checkQuery(query: unknown, where: string, fail: Fail): void {
  QUERY(query, where, fail);
  const { filter = [] } = (query ?? {}) as { filter?: readonly string[] };
  const twice = filter.find((path, i) => filter.indexOf(path) < i);
  if (twice !== undefined) fail(`query.filter names "${twice}" twice. Remove one.`);
}

const isPath = (value: unknown): value is string => typeof value === 'string' && /^\w+(\.\w+)*$/.test(value);

const isKey = (value: unknown): value is string =>
  typeof value === 'string' && isPath(value.replace(/^-/, ''));

const hasDistinctFields = (keys: readonly string[]) =>
  keys.length > 0 && new Set(keys.map((key) => key.replace(/^-/, ''))).size === keys.length;

const QUERY = object({
  filter: listOf(isPath, "a list of fields, such as ['title', 'price']"),
  sort: listOf(
    (keys) => isKey(keys) || (isListOf(keys, isKey) && hasDistinctFields(keys)),
    "a list of orders, such as ['-createdAt', ['completed', 'dueAt']]",
  ),
  search: rule(
    (value) => isListOf(value, isPath) && new Set(value).size === value.length,
    "a list of distinct fields, such as ['title', 'description']",
  ),
});

function checkHooks(hooks: unknown, _where: string, fail: Fail): void {
  if (hooks === undefined) return;
  const provider = typeof hooks === 'function' ? (hooks.prototype as object | undefined) : undefined;
  const isObject = typeof hooks === 'object' && hooks !== null && !Array.isArray(hooks);
  if (!provider && !isObject) fail('hooks must be an object of functions, or a provider class.');
  const where = provider ? (hooks as Type<object>).name : 'hooks';
  const own = provider ? [] : Object.keys(hooks as Raw);
  const methods = methodsOf(provider ?? (Object.getPrototypeOf(hooks) as object | null));
  const names = [...own, ...methods.filter((name) => /^(before|after)/.test(name))];
  const unknownHook = names.find((name) => !(HOOKS as readonly string[]).includes(name));
  if (unknownHook !== undefined) fail(unknownName(where, unknownHook, HOOKS));
  if (provider && names.length === 0)
    fail(`${where} has no hook. Give it methods named like ${HOOKS.slice(0, 2).join(' or ')}.`);
  const broken = own.find((name) => typeof (hooks as Raw)[name] !== 'function');
  if (broken !== undefined) fail(`hooks.${broken} must be a function.`);
}

function methodsOf(prototype: object | null): string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  return [
    ...Object.getOwnPropertyNames(prototype),
    ...methodsOf(Object.getPrototypeOf(prototype) as object | null),
  ];
}

/** Checks the parameters of the path, with that of the parent. */
function checkPath({ name, path = name, parent }: AnyCrudOptions, fail: Fail): void {
  const segments = path.split('/');
  const [first = ''] = segments;
  const twice = segments.find((segment, i) => segment.startsWith(':') && segments.indexOf(segment) < i);
  failIf(fail, 'the path ', {
    [`"${path}" is the service's own, which has /${first}. Choose another path.`]:
      RESERVED_PATHS.includes(first),
    [`has the parameter "${twice}" twice. Give each a name of its own.`]: twice !== undefined,
    'has the parameter ":id", which names the record itself. Choose another name.': segments.includes(':id'),
    [`needs the parent's parameter. Write it like "posts/api/:${parent?.param}/${name}".`]:
      parent && !segments.includes(`:${parent.param}`),
  });
}

/** Checks that options for routes are only given if the routes exist. */
function checkRoutes(options: AnyCrudOptions, fail: Fail): void {
  const { routes = {}, disable = [] } = options;
  for (const handler of Object.keys(routes)) {
    const action = { list: 'get', restore: 'update' }[handler] ?? handler;
    if ((disable as readonly string[]).includes(action))
      fail(`routes.${handler} changes a route that disable leaves out. Remove one of them.`);
  }
  for (const name of BATCH_HANDLERS) {
    if (options[name] || !Object.hasOwn(routes, name)) continue;
    fail(`routes.${name} changes a route that is not there. Write ${name}: true, or leave it out.`);
  }
}
