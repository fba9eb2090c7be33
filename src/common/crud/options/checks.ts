import type { Type } from '@nestjs/common';
import { isPlainObject } from '../../fields/index.js';
import { unknownName } from './option-names.js';

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

/** Stops the start with the first message whose condition holds. @param subject what each one begins with */
export function failIf(fail: Fail, subject: string, messages: Readonly<Record<string, unknown>>): void {
  const found = Object.entries(messages).find(([, holds]) => holds);
  if (found) fail(subject + found[0]);
}

/** Checks the value of an option, which is named `where`. */
export interface Check {
  (value: unknown, where: string, fail: Fail): void;
  /** Whether the option must be there. @default false */
  readonly isRequired?: boolean;
}

/**
 * Accepts what a function does, or says what the option must be.
 *
 * @param isRequired whether the option cannot be left out. @default false
 */
export function rule(accepts: (value: unknown) => boolean, must: string, isRequired = false): Check {
  const check: Check = (value, where, fail) => {
    if ((value !== undefined || isRequired) && !accepts(value)) fail(`${where} must be ${must}.`);
  };
  return Object.assign(check, { isRequired });
}

/** Accepts an object with these members and no others. */
export function object(members: Readonly<Record<string, Check>>): Check {
  return (value, where, fail) => {
    if (value === undefined) return;
    checkNames(value, where, Object.keys(members), fail);
    checkMembers(value, members, `${where}.`, fail);
  };
}

/** Accepts an object with members of any name. */
export function recordOf(check: Check, must: string): Check {
  return (value, where, fail) => {
    if (value === undefined) return;
    if (!isPlainObject(value)) fail(`${where} must be ${must}.`);
    for (const [name, member] of Object.entries(value as object)) check(member, `${where}.${name}`, fail);
  };
}

/** Accepts what a function does, or what another check does. */
export function either(accepts: (value: unknown) => boolean, check: Check): Check {
  return (value, where, fail) => {
    if (!accepts(value)) check(value, where, fail);
  };
}

/** Checks the members of an object that has them, or must. */
export function checkMembers(
  value: object,
  members: Readonly<Record<string, Check>>,
  prefix: string,
  fail: Fail,
): void {
  for (const [name, check] of Object.entries(members)) {
    const member = (value as Record<string, unknown>)[name];
    if (name in value || check.isRequired) check(member, prefix + name, fail);
  }
}

/** Checks that a value is an object with known names only. */
export function checkNames(
  value: unknown,
  where: string,
  known: readonly string[],
  fail: Fail,
): asserts value is object {
  if (!isPlainObject(value)) fail(`${where} must be an object. It takes ${known.join(', ')}.`);
  const unknownMember = Object.keys(value as object).find((name) => !known.includes(name));
  if (unknownMember !== undefined) fail(unknownName(where, unknownMember, known));
}

/** Accepts a class. One that is undefined comes from a file that is not loaded yet. */
export const aClass: Check = (value, where, fail) => requireClass(value, where, fail);

/** Also checks an option that is left out. */
export function required(check: Check): Check {
  const always: Check = (value, where, fail) => check(value, where, fail);
  return Object.assign(always, { isRequired: true });
}

export function requireClass(value: unknown, where: string, fail: Fail): asserts value is Type<object> {
  if (typeof value === 'function') return;
  if (value !== undefined) fail(`${where} must be a class.`);
  fail(
    `${where} is undefined. Pass a class; if it is imported from a file that imports this one, break that cycle.`,
  );
}

export const boolean = rule((value) => typeof value === 'boolean', 'true or false');

/** @param last @default none */
export function integer(first: number, last = Infinity): Check {
  const accepts = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= first && Number(value) <= last;
  return rule(accepts, `a whole number from ${first}${last === Infinity ? '' : ` to ${last}`}`);
}

export function oneOf(...allowed: unknown[]): Check {
  return rule((value) => allowed.includes(value), `one of ${allowed.map(String).join(', ')}`);
}

export function listOf(isEntry: (entry: unknown) => boolean, must: string): Check {
  return rule((value) => isListOf(value, isEntry), must);
}

export function isListOf<T>(value: unknown, isEntry: (entry: unknown) => entry is T): value is T[];
export function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): value is unknown[];
export function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

/** Accepts the names of members of a response. */
export const unstored = listOf(
  (name) => typeof name === 'string' && name !== '',
  'a list of the answer\'s members, such as ["secret"]',
);
