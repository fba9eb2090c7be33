import { isPlainObject } from '../../fields/index.js';

/** Stops the start with a one-sentence error that names the fix. */
export type Fail = (problem: string) => never;

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

export type Checks = Readonly<Record<string, Check>>;

/** Accepts what a function does, and undefined; otherwise says what the option must be. */
export function rule(accepts: (value: unknown) => boolean, must: string): Check {
  return (value, where, fail) => {
    if (value !== undefined && !accepts(value)) fail(`${where} must be ${must}.`);
  };
}

/** Rejects undefined as well, which a class is that comes from a file that is not loaded yet. */
export function defined(check: Check): Check {
  return (value, where, fail) => {
    if (value === undefined)
      fail(
        `${where} is undefined. Pass it; if it is imported from a file that imports this one, break that cycle.`,
      );
    check(value, where, fail);
  };
}

/** Also checks an option that is left out. */
export function required(check: Check): Check {
  return Object.assign(defined(check), { isRequired: true });
}

/** Accepts an object with these members and no others. */
export function object(members: Checks): Check {
  return (value, where, fail) => {
    if (value !== undefined) checkMembers(value, where, members, fail);
  };
}

/** Accepts an object with members of any name. */
export function recordOf(check: Check, must: string): Check {
  return (value, where, fail) => {
    rule(isPlainObject, must)(value, where, fail);
    for (const [name, member] of Object.entries(value ?? {})) check(member, `${where}.${name}`, fail);
  };
}

/** Accepts what a function does, or what another check does. */
export function either(accepts: (value: unknown) => boolean, check: Check): Check {
  return (value, where, fail) => {
    if (!accepts(value)) check(value, where, fail);
  };
}

/** Accepts an object with known members only, each as its check says. @param prefix of their names in messages */
export function checkMembers(
  value: unknown,
  where: string,
  members: Checks,
  fail: Fail,
  prefix = `${where}.`,
): void {
  const known = `It takes ${Object.keys(members).join(', ')}.`;
  if (!isPlainObject(value)) return fail(`${where} must be an object. ${known}`);
  const unknownMember = Object.keys(value).find((name) => !Object.hasOwn(members, name));
  if (unknownMember !== undefined) fail(`${where} has no "${unknownMember}". ${known}`);
  for (const [name, check] of Object.entries(members)) {
    if (name in value || check.isRequired) check(value[name], prefix + name, fail);
  }
}

export const aClass = defined(rule((value) => typeof value === 'function', 'a class'));

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

export function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry);
}
