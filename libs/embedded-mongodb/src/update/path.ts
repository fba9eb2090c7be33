import { failure, unsupported } from '../errors.js';

/** Takes an update's path apart; the positional operators are refused. */
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
    if (name.startsWith('$') && !['$ref', '$id', '$db'].includes(name)) {
      throw failure(
        'DollarPrefixedFieldName',
        `The dollar ($) prefixed field '${name}' in '${path}' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.`,
      );
    }
  }
  return names;
}

/** The position that a name stands for in an array, or `undefined`. */
export function arrayPosition(name: string): number | undefined {
  return /^(?:0|[1-9]\d*)$/.test(name) ? Number(name) : undefined;
}
