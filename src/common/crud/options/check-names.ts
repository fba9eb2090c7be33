import { isPlainObject } from '../../fields/index.js';
import type { Fail } from './fail.js';
import { unknownName } from './option-names.js';

/** Checks that a value is an object with known names only. */
export function checkNames(value: unknown, where: string, known: readonly string[], fail: Fail): void {
  if (!isPlainObject(value)) fail(`${where} must be an object. It takes ${known.join(', ')}.`);
  const stray = Object.keys(value as object).find((name) => !known.includes(name));
  if (stray !== undefined) fail(unknownName(where, stray, known));
}
