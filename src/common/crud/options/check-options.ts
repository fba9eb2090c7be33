import type { Type } from '@nestjs/common';
import { Schema } from 'mongoose';
import { isProblem } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { checkNames, checkQuery, checkUnkept, type Fail, failFor } from './checks.js';
import type { AnyCrudOptions } from './crud-options.js';
import { ACTIONS, BATCH_HANDLERS, HANDLERS, HOOKS, OPTION_NAMES, unknownName } from './option-names.js';

/** Options that the compiler may not have checked. */
type Raw = Record<string, unknown>;

/** First path segments of the service's own routes. */
const RESERVED_PATHS = ['docs', 'health'];

/**
 * Checks the names and shapes of the options. The definition checks them against the entity's fields.
 *
 * @throws Error that names the fix
 */
export function checkOptions(options: AnyCrudOptions, fail: Fail): void {
  const raw = options as unknown as Raw;
  if (!isPlainObject(raw)) fail('the options are missing. Pass { entity, input, name }.');
  checkNames(raw, 'CrudOptions', OPTION_NAMES.options, fail);
  requireClass(raw.entity, 'entity', fail);
  checkInput(raw.input, fail);
  checkText(raw, fail);
  checkActions(raw, fail);
  checkHooks(raw.hooks, fail);
  checkRoutes(raw, fail);
  checkBatches(raw, fail);
  checkAudit(raw.audit, fail);
  checkReferences(raw.references, fail);
  checkList(raw.list, fail);
  checkQuery(raw.query, fail);
  checkOutput(raw.output, fail);
}

/** Checks that the options name an entity. Runs before the other checks, which need one. */
export function requireEntity(options: unknown): void {
  const fail = failFor(options);
  if (!isPlainObject(options)) fail('the options are missing. Pass { entity, input, name }.');
  requireClass((options as Raw).entity, 'entity', fail);
}

/** Checks the second argument of `forFeature`. */
export function checkOverrides(overrides: object, fail: Fail): void {
  checkNames(overrides, 'the second argument', OPTION_NAMES.overrides, fail);
  for (const name of ['controller', 'service'] as const) {
    if (name in overrides) requireClass((overrides as Raw)[name], name, fail);
  }
  for (const name of ['providers', 'imports'] as const) {
    const list = (overrides as Raw)[name];
    if (list === undefined) continue;
    if (!Array.isArray(list)) fail(`${name} must be a list.`);
    const missing = (list as unknown[]).indexOf(undefined);
    if (missing >= 0)
      fail(
        `${name}[${missing}] is undefined. If it is imported from a file that imports this one, break that circle.`,
      );
  }
}

function requireClass(value: unknown, where: string, fail: Fail): asserts value is Type<object> {
  if (typeof value === 'function') return;
  if (value === undefined) {
    fail(
      `${where} is undefined. Pass a class; if it is imported from a file that imports this one, break that circle.`,
    );
  }
  fail(`${where} must be a class.`);
}

function checkInput(input: unknown, fail: Fail): void {
  if (typeof input !== 'object' || input === null) {
    requireClass(input, 'input', fail);
    return;
  }
  checkNames(input, 'input', OPTION_NAMES.input, fail);
  requireClass((input as Raw).create, 'input.create', fail);
  requireClass((input as Raw).update, 'input.update', fail);
}

function checkText({ name, path, tag, security, parent }: Raw, fail: Fail): void {
  if (typeof name !== 'string' || !/^[a-z][\w-]*$/i.test(name)) {
    fail(`the name "${String(name)}" is not a word. Use letters, digits, - and _.`);
  }
  if (path !== undefined && (typeof path !== 'string' || !/^:?[\w-]+(\/:?[\w-]+)*$/.test(path))) {
    fail(`the path "${String(path)}" is not a path. Write it like "posts/api".`);
  }
  for (const [option, text] of Object.entries({ tag, security }))
    if (text !== undefined && (typeof text !== 'string' || text === '')) fail(`${option} must be a text.`);
  const segments = typeof path === 'string' ? path.split('/') : [name];
  const reserved = RESERVED_PATHS.find((segment) => segment === segments[0]);
  if (reserved)
    fail(
      `the path "${segments.join('/')}" is the service's own, which has /${reserved}. Choose another path.`,
    );
  const twice = segments.find((segment, i) => segment.startsWith(':') && segments.indexOf(segment) < i);
  if (twice) fail(`the path has the parameter "${twice}" twice. Give each a name of its own.`);
  if (segments.includes(':id'))
    fail('the path has the parameter ":id", which names the record itself. Choose another name.');
  if (parent === undefined) return;
  checkNames(parent, 'parent', OPTION_NAMES.parent, fail);
  const { entity, param, field } = parent as Raw;
  requireClass(entity, 'parent.entity', fail);
  if (typeof param !== 'string')
    fail('parent.param must be the name of a parameter of the path, such as "postId".');
  if (typeof field !== 'string')
    fail('parent.field must be the name of the field that refers to the parent.');
  if (!segments.includes(`:${String(param)}`)) {
    fail(
      `the path needs the parent's parameter. Write it like "posts/api/:${String(param)}/${String(name)}".`,
    );
  }
}

function checkActions({ disable = [], ...raw }: Raw, fail: Fail): void {
  if (!Array.isArray(disable)) fail(`disable must be a list of actions: ${ACTIONS.join(', ')}.`);
  const stray = (disable as unknown[]).find((action) => !(ACTIONS as readonly unknown[]).includes(action));
  if (stray !== undefined) fail(unknownName('disable', String(stray), ACTIONS));
  for (const option of ['writeOnly', 'globallyUnique', 'visible', 'schema'] as const)
    checkShape(option, raw[option], fail);
  if (!('isolationFields' in raw)) return;
  const { isolationFields } = raw;
  // A value of another shape would isolate nothing and make the resource public.
  checkNames(isolationFields, 'isolationFields', ['all', ...ACTIONS], fail);
  for (const [action, fields] of Object.entries(isolationFields as Record<string, Raw>)) {
    if (!isPlainObject(fields) || Object.keys(fields).length === 0) {
      fail(`isolationFields.${action} must name a field and its source, such as { tenant: currentTenant }.`);
    }
    for (const [field, source] of Object.entries(fields)) {
      if (typeof source !== 'function') {
        fail(`isolationFields.${action}.${field} must be a function, such as currentTenant or claim('sub').`);
      }
    }
  }
}

function checkShape(
  option: 'writeOnly' | 'globallyUnique' | 'visible' | 'schema',
  value: unknown,
  fail: Fail,
): void {
  if (value === undefined) return;
  if (option === 'globallyUnique' && !Array.isArray(value)) fail('globallyUnique must be a list of fields.');
  if (option === 'writeOnly' && !Array.isArray(value)) fail('writeOnly must be a list of input fields.');
  if (option === 'schema' && !(value instanceof Schema)) {
    fail('schema must be a Mongoose schema, such as SchemaFactory.createForClass(Note) makes.');
  }
  if (option !== 'visible') return;
  if (!isPlainObject(value))
    fail('visible must be an object of fields and values, such as { deletedAt: null }.');
  for (const [field, wanted] of Object.entries(value as Raw)) {
    if (wanted !== null && !['string', 'number', 'boolean'].includes(typeof wanted)) {
      fail(`visible.${field} must be a text, a number, true, false or null.`);
    }
  }
}

function checkHooks(hooks: unknown, fail: Fail): void {
  if (hooks === undefined) return;
  const provider = typeof hooks === 'function' ? (hooks.prototype as object | undefined) : undefined;
  const isObject = typeof hooks === 'object' && hooks !== null && !Array.isArray(hooks);
  if (!provider && !isObject) fail('hooks must be an object of functions, or a provider class.');
  const where = provider ? (hooks as Type<object>).name : 'hooks';
  const own = provider ? [] : Object.keys(hooks as Raw);
  const methods = methodsOf(provider ?? (Object.getPrototypeOf(hooks) as object | null));
  const names = [...own, ...methods.filter((name) => /^(before|after)/.test(name))];
  const stray = names.find((name) => !(HOOKS as readonly string[]).includes(name));
  if (stray !== undefined) fail(unknownName(where, stray, HOOKS));
  if (provider && names.length === 0) {
    fail(`${where} has no hook. Give it methods named like ${HOOKS.slice(0, 2).join(' or ')}.`);
  }
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

function checkRoutes({ routes = {}, disable = [] }: Raw, fail: Fail): void {
  checkNames(routes, 'routes', [...HANDLERS, ...BATCH_HANDLERS], fail);
  for (const [handler, route] of Object.entries(routes as Record<string, Raw>)) {
    const where = `routes.${handler}`;
    checkNames(route, where, OPTION_NAMES.route, fail);
    const action = ({ list: 'get', restore: 'update' } as Raw)[handler] ?? handler;
    if ((disable as unknown[]).includes(action))
      fail(`${where} changes a route that disable leaves out. Remove one of them.`);
    const { guards = [], decorators = [], summary = '', response, errors = [] } = route;
    if (!Array.isArray(guards) || !guards.every(isGuard)) fail(`${where}.guards must be a list of guards.`);
    if (!Array.isArray(decorators) || decorators.some((one) => typeof one !== 'function')) {
      fail(`${where}.decorators must be a list of method decorators, such as [Roles('admin')].`);
    }
    if (typeof summary !== 'string') fail(`${where}.summary must be a text.`);
    if (!Array.isArray(errors) || !errors.every(isProblem)) {
      fail(`${where}.errors must be a list of codes, such as "WRITE_CONFLICT", or of statuses.`);
    }
    checkUnkept(route.unkept, where, fail);
    if ('response' in route) requireClass(response, `${where}.response`, fail);
  }
}

function isGuard(guard: unknown): boolean {
  const isInstance = typeof guard === 'object' && guard !== null && 'canActivate' in guard;
  return typeof guard === 'function' || isInstance;
}

function checkReferences(references: unknown, fail: Fail): void {
  if (references === undefined) return;
  if (!isPlainObject(references))
    fail('references must be an object, such as { category: { to: Category } }.');
  for (const [path, reference] of Object.entries(references as Record<string, Raw>)) {
    checkNames(reference, `references.${path}`, OPTION_NAMES.reference, fail);
    const { to, check = 'exists', onDelete = 'ignore' } = reference;
    requireClass(to, `references.${path}.to`, fail);
    oneOf(check, `references.${path}.check`, ['exists', 'sameScope', false], fail);
    oneOf(onDelete, `references.${path}.onDelete`, ['restrict', 'cascade', 'unset', 'ignore'], fail);
  }
}

function checkList(list: unknown, fail: Fail): void {
  if (list === undefined) return;
  checkNames(list, 'list', OPTION_NAMES.list, fail);
  const { maxLimit = 1, unpaged = true } = list as Raw;
  if (!Number.isInteger(maxLimit) || (maxLimit as number) < 1)
    fail('list.maxLimit must be a whole number from 1.');
  if (typeof unpaged !== 'boolean') fail('list.unpaged must be true or false.');
}

function checkOutput(output: unknown, fail: Fail): void {
  if (output === undefined || typeof output === 'function') return;
  checkNames(output, 'output', OPTION_NAMES.output, fail);
  const { from, hides = [] } = output as Raw;
  if ('type' in (output as Raw)) requireClass((output as Raw).type, 'output.type', fail);
  if (typeof from !== 'function') fail('output.from must be a function of the record and the caller.');
  if (!Array.isArray(hides) || hides.some((name) => typeof name !== 'string'))
    fail('output.hides must be a list of fields; write [] if the function hides none.');
}

function oneOf(value: unknown, where: string, allowed: readonly unknown[], fail: Fail): void {
  if (!allowed.includes(value)) fail(`${where} must be one of ${allowed.map(String).join(', ')}.`);
}

/** A hundred years. Unit: days. */
const MAX_DAYS = 36_500;

/** Checks the option `audit`. */
function checkAudit(audit: unknown, fail: Fail): void {
  if (audit === undefined || typeof audit === 'boolean') return;
  if (!isPlainObject(audit)) fail('audit must be true, false or { keptDays }.');
  checkNames(audit, 'audit', OPTION_NAMES.audit, fail);
  const { keptDays = 1 } = audit as { keptDays?: unknown };
  const isFitting = Number.isInteger(keptDays) && Number(keptDays) >= 1 && Number(keptDays) <= MAX_DAYS;
  if (!isFitting) fail(`audit.keptDays must be a whole number from 1 to ${MAX_DAYS}.`);
}

/** Checks `bulk` and `import`, and that options for their routes are only given if the routes exist. */
function checkBatches(options: Readonly<Record<string, unknown>>, fail: Fail): void {
  for (const name of BATCH_HANDLERS) {
    const value = options[name] ?? false;
    if (typeof value !== 'boolean') fail(`${name} must be true or false.`);
    if (!value && Object.hasOwn((options.routes ?? {}) as object, name)) {
      fail(`routes.${name} changes a route that is not there. Write ${name}: true, or leave it out.`);
    }
  }
}
