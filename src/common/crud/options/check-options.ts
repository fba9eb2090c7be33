import type { Type } from '@nestjs/common';
import type { AnyCrudOptions } from './crud-options.js';
import { ACTIONS, HANDLERS, HOOKS, OPTION_NAMES, unknownName } from './option-names.js';

/** Stops the start with one sentence that names the fix. */
export type Fail = (problem: string) => never;

/** Options as they come from code that the compiler may not have checked. */
type Raw = Record<string, unknown>;

/** Makes the {@link Fail} of a resource. */
export function failFor(entity: unknown): Fail {
  const name = typeof entity === 'function' ? entity.name : String(entity);
  return (problem) => {
    throw new Error(`CrudModule.forFeature(${name}): ${problem}`);
  };
}

/**
 * Checks the names and shapes of the options; what they say of the entity's fields is checked by the definition.
 *
 * @throws Error that names the fix
 */
export function checkOptions(options: AnyCrudOptions, fail: Fail): void {
  const raw = options as unknown as Raw;
  if (typeof raw !== 'object' || raw === null) fail('the options are missing. Pass { entity, input, name }.');
  checkNames(raw, 'CrudOptions', OPTION_NAMES.options, fail);
  requireClass(raw.entity, 'entity', fail);
  checkInput(raw.input, fail);
  checkText(raw, fail);
  checkActions(raw, fail);
  checkHooks(raw.hooks, fail);
  checkRecordOf(raw, 'routes', HANDLERS, OPTION_NAMES.route, fail);
  checkGroups(raw, fail);
}

/** Checks the second argument of `forFeature`. */
export function checkOverrides(overrides: object, fail: Fail): void {
  checkNames(overrides as Raw, 'the second argument', OPTION_NAMES.overrides, fail);
  for (const name of ['controller', 'service'] as const) {
    if (name in overrides) requireClass((overrides as Raw)[name], name, fail);
  }
}

function checkNames(value: Raw, where: string, known: readonly string[], fail: Fail): void {
  const stray = Object.keys(value).find((name) => !known.includes(name));
  if (stray !== undefined) fail(`${unknownName(where, stray, known)}`);
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
  checkNames(input as Raw, 'input', OPTION_NAMES.input, fail);
  requireClass((input as Raw).create, 'input.create', fail);
  requireClass((input as Raw).update, 'input.update', fail);
}

function checkText({ name, path, tag, parent }: Raw, fail: Fail): void {
  if (typeof name !== 'string' || !/^[a-z][\w-]*$/i.test(name)) {
    fail(`the name "${String(name)}" is not a word. Use letters, digits, - and _.`);
  }
  if (path !== undefined && (typeof path !== 'string' || !/^:?[\w-]+(\/:?[\w-]+)*$/.test(path))) {
    fail(`the path "${String(path)}" is not a path. Write it like "posts/api".`);
  }
  if (tag !== undefined && (typeof tag !== 'string' || tag === '')) fail('tag must be a text.');
  if (parent === undefined) return;
  checkNames(parent as Raw, 'parent', OPTION_NAMES.parent, fail);
  const { entity, param } = parent as Raw;
  requireClass(entity, 'parent.entity', fail);
  const segments = typeof path === 'string' ? path.split('/') : [];
  if (!segments.includes(`:${String(param)}`)) {
    fail(
      `the path needs the parent's parameter. Write it like "posts/api/:${String(param)}/${String(name)}".`,
    );
  }
}

function checkActions({ disable = [], isolationFields = {} }: Raw, fail: Fail): void {
  if (!Array.isArray(disable)) fail(`disable must be a list of actions: ${ACTIONS.join(', ')}.`);
  const stray = (disable as unknown[]).find((action) => !(ACTIONS as readonly unknown[]).includes(action));
  if (stray !== undefined) fail(unknownName('disable', String(stray), ACTIONS));
  checkNames(isolationFields as Raw, 'isolationFields', ['all', ...ACTIONS], fail);
  for (const [action, fields] of Object.entries(isolationFields as Record<string, Raw>)) {
    for (const [field, source] of Object.entries(fields)) {
      if (typeof source !== 'function') {
        fail(`isolationFields.${action}.${field} must be a function, such as currentTenant or claim('sub').`);
      }
    }
  }
}

function checkHooks(hooks: unknown, fail: Fail): void {
  if (hooks === undefined) return;
  const isProvider = typeof hooks === 'function';
  const names = isProvider
    ? methodsOf(hooks.prototype as object).filter((name) => /^(before|after)/.test(name))
    : Object.keys(hooks as Raw);
  checkNames(
    Object.fromEntries(names.map((name) => [name, true])),
    isProvider ? hooks.name : 'hooks',
    HOOKS,
    fail,
  );
  if (isProvider && names.length === 0) {
    fail(`${hooks.name} has no hook. Give it methods named like ${HOOKS.slice(0, 2).join(' or ')}.`);
  }
  if (isProvider) return;
  const broken = names.find((name) => typeof (hooks as Raw)[name] !== 'function');
  if (broken) fail(`hooks.${broken} must be a function.`);
}

function methodsOf(prototype: object | null): string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  return [
    ...Object.getOwnPropertyNames(prototype),
    ...methodsOf(Object.getPrototypeOf(prototype) as object | null),
  ];
}

function checkRecordOf(
  raw: Raw,
  option: 'routes' | 'references',
  keys: readonly string[] | undefined,
  members: readonly string[],
  fail: Fail,
): void {
  const entries = (raw[option] ?? {}) as Record<string, Raw>;
  if (keys) checkNames(entries, option, keys, fail);
  for (const [key, value] of Object.entries(entries)) checkNames(value, `${option}.${key}`, members, fail);
}

function checkGroups(raw: Raw, fail: Fail): void {
  checkRecordOf(raw, 'references', undefined, OPTION_NAMES.reference, fail);
  for (const [path, { to, check = 'exists', onDelete = 'ignore' }] of Object.entries(
    (raw.references ?? {}) as Record<string, Raw>,
  )) {
    requireClass(to, `references.${path}.to`, fail);
    oneOf(check, `references.${path}.check`, ['exists', 'sameScope', false], fail);
    oneOf(onDelete, `references.${path}.onDelete`, ['restrict', 'cascade', 'unset', 'ignore'], fail);
  }
  const list = (raw.list ?? {}) as Raw;
  checkNames(list, 'list', OPTION_NAMES.list, fail);
  const { maxLimit = 1, unpaged = true } = list;
  if (!Number.isInteger(maxLimit) || (maxLimit as number) < 1)
    fail('list.maxLimit must be a whole number from 1.');
  if (typeof unpaged !== 'boolean') fail('list.unpaged must be true or false.');
  const { output } = raw;
  if (output === undefined || typeof output === 'function') return;
  checkNames(output as Raw, 'output', OPTION_NAMES.output, fail);
  requireClass((output as Raw).type, 'output.type', fail);
  if (typeof (output as Raw).from !== 'function')
    fail('output.from must be a function of the record and the caller.');
}

function oneOf(value: unknown, where: string, allowed: readonly unknown[], fail: Fail): void {
  if (!allowed.includes(value)) fail(`${where} must be one of ${allowed.map(String).join(', ')}.`);
}
