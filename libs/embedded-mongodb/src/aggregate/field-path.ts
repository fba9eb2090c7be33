import { failureAt } from '../errors.js';

/**
 * The names in a dotted path to a field.
 *
 * @throws CommandError 40352, 40353, 15998 or 16410 if it is not such a path
 */
export function fieldPath(path: string): string[] {
  if (path === '') throw failureAt(40352, 'FieldPath cannot be constructed with empty string');
  if (path.endsWith('.')) throw failureAt(40353, `FieldPath must not end with a '.'.`);
  const names = path.split('.');
  if (names.includes('')) throw failureAt(15998, 'FieldPath field names may not be empty strings.');
  if (names.some((name) => name.startsWith('$'))) {
    throw failureAt(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField.`,
    );
  }
  return names;
}
