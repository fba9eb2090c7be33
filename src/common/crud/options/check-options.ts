import { MetadataScanner } from '@nestjs/core';
import { Schema } from 'mongoose';
import { isProblem } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { ANY_OF } from '../../tenancy/index.js';
import {
  aClass,
  boolean,
  type Check,
  type Checks,
  checkMembers,
  defined,
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
  required,
  rule,
} from './checks.js';
import { ACTIONS, type AnyCrudOptions, BATCH_HANDLERS, HANDLERS } from './crud-options.js';

/** The paths of the service's own routes. */
const OWN_PATH = /^(docs|health)(\/|$)/;

/** A hundred years. Unit: days. */
const MAX_DAYS = 36_500;

const matches = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);

const isText = matches(/./);

const text = rule(isText, 'a text');

const isGuard = (guard: unknown) =>
  typeof guard === 'function' || (typeof guard === 'object' && guard !== null && 'canActivate' in guard);

const isFunction = (value: unknown) => typeof value === 'function';

const isBoolean = (value: unknown) => typeof value === 'boolean';

/** The checks of what every route takes. */
export const ROUTE = {
  guards: listOf(isGuard, 'a list of guards'),
  decorators: listOf(isFunction, "a list of method decorators, such as [Roles('admin')]"),
  summary: text,
  response: aClass,
  errors: listOf(isProblem, 'a list of codes, such as "WRITE_CONFLICT", or of statuses'),
  unstored: listOf(isText, 'a list of the answer\'s members, such as ["secret"]'),
};

const INPUT = object({ create: required(aClass), update: required(aClass) });

const PREDICATE = rule(isFunction, "a function of the caller, such as hasRole('hr')");

const isPath = matches(/^\w+(\.\w+)*$/);

const isKey = matches(/^-?\w+(\.\w+)*$/);

const isOrder = (keys: unknown) => {
  if (!isListOf(keys, isKey)) return isKey(keys);
  const fields = (keys as readonly string[]).map((key) => key.replace(/^-/, ''));
  return fields.length > 0 && new Set(fields).size === fields.length;
};

const isScope = (fields: unknown) =>
  isPlainObject(fields) && Object.keys(fields).length > 0 && Object.values(fields).every(isFunction);

const SCOPE = 'an object of fields and sources, such as { tenant: currentTenant }';

// A write must know whose a record is.
const isWriteScope = (fields: unknown) => isScope(fields) && !(ANY_OF in (fields as object));

/** A value of another shape would isolate nothing and make the resource public: so would undefined. */
const ISOLATION = {
  ...eachOf(
    ['all', 'create', 'update', 'del'],
    defined(rule(isWriteScope, `${SCOPE}; anyOf is for get and count`)),
  ),
  ...eachOf(['get', 'count'], defined(rule(isScope, SCOPE))),
};

/** The check of every option. Those that take several together follow, and the definition asks the entity's fields. */
const OPTIONS: { readonly [Name in keyof Required<AnyCrudOptions>]: Check } = {
  entity: required(aClass),
  input: required((input, where, fail) => (isPlainObject(input) ? INPUT : aClass)(input, where, fail)),
  name: required(rule(matches(/^[a-z][\w-]*$/i), 'a word of letters, digits, - and _, such as "posts"')),
  path: rule(matches(/^:?[\w-]+(\/:?[\w-]+)*$/), 'a path, such as "posts/api"'),
  tag: text,
  security: text,
  schema: rule(
    (value) => value instanceof Schema,
    'a Mongoose schema, such as SchemaFactory.createForClass(Note) makes',
  ),
  kinds: recordOf(aClass, 'an object, such as { seasonal: SeasonalInput, weekday: WeekdayInput }'),
  writeOnly: rule(Array.isArray, 'a list of input fields'),
  output: either(
    isFunction,
    object({
      type: aClass,
      from: required(rule(isFunction, 'a function of the record and the caller')),
      hides: listOf(isText, 'a list of fields; write [] if the function hides none'),
    }),
  ),
  parent: object({ entity: required(aClass), param: required(text), field: required(text) }),
  disable: listOf(
    (action) => (ACTIONS as readonly unknown[]).includes(action),
    `a list of actions: ${ACTIONS.join(', ')}`,
  ),
  isolationFields: (value, where, fail) => checkMembers(value, where, ISOLATION, fail),
  globallyUnique: rule(Array.isArray, 'a list of fields'),
  visible: recordOf(
    defined(
      rule(
        (value) => value === null || ['string', 'number', 'boolean'].includes(typeof value),
        'a text, a number, true, false or null',
      ),
    ),
    'an object of fields and values, such as { deletedAt: null }',
  ),
  // The definition checks that nothing else tells of them.
  fields: recordOf(
    object({ read: PREDICATE, write: PREDICATE }),
    "an object, such as { salary: { read: hasRole('hr') } }",
  ),
  archive: object({ field: required(text) }),
  list: object({ unpaged: boolean, maxLimit: integer(1) }),
  query: object({
    filter: listOf(isPath, "a list of fields, such as ['title', 'price']"),
    sort: listOf(isOrder, "a list of orders, such as ['-createdAt', ['completed', 'dueAt']]"),
    search: listOf(isPath, "a list of fields, such as ['title', 'description']"),
  }),
  bulk: boolean,
  import: boolean,
  events: either(isBoolean, object({ data: required(oneOf('id')) })),
  audit: either(isBoolean, object({ keptDays: integer(1, MAX_DAYS) })),
  references: recordOf(
    object({
      to: required(aClass),
      check: oneOf('exists', 'sameScope', false),
      onDelete: oneOf('restrict', 'cascade', 'unset', 'ignore'),
    }),
    'an object, such as { category: { to: Category } }',
  ),
  hooks: checkHooks,
  routes: object(eachOf([...HANDLERS, ...BATCH_HANDLERS], object(ROUTE))),
};

const HOOKS = ['Create', 'Update', 'Del'].flatMap((verb) => [`before${verb}`, `after${verb}`]);

const INJECTED = listOf(
  (value) => value !== undefined,
  'a list; if an entry is undefined, break the cycle of imports',
);

/** The check of every member of the second argument of `forFeature`. */
const OVERRIDES = { controller: aClass, service: aClass, providers: INJECTED, imports: INJECTED };

function eachOf(names: readonly string[], check: Check): Checks {
  return Object.fromEntries(names.map((name) => [name, check]));
}

/** Checks names and shapes; the definition checks the entity's fields. @throws Error that names the fix */
export function checkOptions(options: AnyCrudOptions, fail: Fail): void {
  requireEntity(options);
  checkMembers(options, 'CrudOptions', OPTIONS, fail, '');
  checkTogether(options, fail);
}

/** Checks that there are options with an entity, which a cycle of imports may have left undefined. */
export function requireEntity(options: unknown): void {
  aClass((options as Partial<AnyCrudOptions> | null | undefined)?.entity, 'entity', failFor(options));
}

export function checkOverrides(overrides: object, fail: Fail): void {
  checkMembers(overrides, 'the second argument', OVERRIDES, fail, '');
}

/** Hooks are functions of an object, or methods of a provider class. */
function checkHooks(hooks: unknown, where: string, fail: Fail): void {
  if (hooks === undefined) return;
  const isProvider = typeof hooks === 'function';
  const holder = (isProvider ? hooks.prototype : hooks) as Readonly<Record<string, unknown>> | undefined;
  if (typeof holder !== 'object' || (holder as object | null) === null || Array.isArray(holder))
    return fail('hooks must be an object of functions, or a provider class.');
  const own = Object.keys(holder);
  const methods = new MetadataScanner().getAllMethodNames(holder);
  const names = [...own, ...methods.filter((name) => /^(before|after)/.test(name))];
  const known = HOOKS.join(', ');
  const unknownHook = names.find((name) => !HOOKS.includes(name));
  const broken = own.find((name) => typeof holder[name] !== 'function');
  failIf(fail, where, {
    [` has no "${unknownHook}". It takes ${known}.`]: unknownHook !== undefined,
    [`.${broken} must be a function.`]: broken !== undefined,
    [` has no method of these names: ${known}.`]: isProvider && names.length === 0,
  });
}

/** Checks the path with its parameters, and that options for routes are only given if the routes exist. */
function checkTogether(options: AnyCrudOptions, fail: Fail): void {
  const { archive, disable = [], name, parent, path = name, routes = {} } = options;
  const parameters = [...path.split('/'), ':id'].filter((segment) => segment.startsWith(':'));
  const twice = parameters.find((parameter, i) => parameters.indexOf(parameter) < i);
  const isThere = (handler: string) => {
    if (handler === 'bulk' || handler === 'import') return options[handler];
    const action = { list: 'get', restore: 'update' }[handler] ?? handler;
    return !(disable as readonly string[]).includes(action) && (handler !== 'restore' || archive);
  };
  const absent = Object.keys(routes).find((handler) => !isThere(handler));
  failIf(fail, '', {
    [`the path "${path}" is the service's own. Choose another path.`]: OWN_PATH.test(path),
    [`the path has the parameter "${twice}" twice, or it is that of the record. Give each a name of its own.`]:
      twice !== undefined,
    [`the path needs the parent's parameter. Write it like "posts/api/:${parent?.param}/${name}".`]:
      parent && !parameters.includes(`:${parent.param}`),
    [`routes.${absent} changes a route that is not there. Remove it, or see disable, archive, bulk and import.`]:
      absent !== undefined,
  });
}
