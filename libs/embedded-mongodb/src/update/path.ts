import { failure, unsupported } from '../errors.js';

/** Splits an update's path; rejects the positional operators. */
export function parseUpdatePath(path: string): string[] {
  if (path === '') throw failure('EmptyFieldName', 'An empty update path is not valid.');
  const names = path.split('.');
  for (const name of names) {
    if (name === '') {
      throw failure(
        'EmptyFieldName',
        `The update path '${path}' contains an empty field name, which is not allowed.`,
      );
    }
    if (name === '$' || /^\$\[\w*\]$/.test(name)) throw unsupported(`The positional operator in '${path}'`);
  }
  return names;
}

/** The array position that a name means, or `undefined`. */
export function arrayPosition(name: string): number | undefined {
  return /^\d+$/.test(name) ? Number(name) : undefined;
}
