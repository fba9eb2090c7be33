import type { Schema, SchemaType } from 'mongoose';
import { errorMessages, toPointer, ValidationError, type Violation } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';

/**
 * Rejects names that Mongoose's maps cannot have. Otherwise a create would fail with "the map is not an
 * object", and an update with an error that names no field.
 *
 * @param values by dotted path
 * @throws ValidationError
 */
export function checkMapNames(schema: Schema, values: object): void {
  const [first, ...others] = violationsOf(schema, values, []);
  if (first) throw new ValidationError([first, ...others]);
}

function violationsOf(schema: Schema, values: object, parents: readonly string[]): Violation[] {
  return Object.entries(values).flatMap(([path, value]: [string, unknown]): Violation[] => {
    const type = schema.path(path) as (SchemaType & { schema?: Schema }) | undefined;
    const at = [...parents, ...path.split('.')];
    if (type?.instance === 'Map') return namesOf(value).filter(isWrong).map(violationAt(at));
    const { schema: inner } = type ?? {};
    if (!inner) return [];
    if (!Array.isArray(value)) return isPlainObject(value) ? violationsOf(inner, value, at) : [];
    return value.flatMap((entry: unknown, i) =>
      isPlainObject(entry) ? violationsOf(inner, entry, [...at, String(i)]) : [],
    );
  });
}

function namesOf(map: unknown): string[] {
  if (map instanceof Map) return [...(map as Map<string, unknown>).keys()];
  return isPlainObject(map) ? Object.keys(map) : [];
}

function isWrong(name: string): boolean {
  return name.includes('.') || name.startsWith('$');
}

function violationAt(at: readonly string[]): (name: string) => Violation {
  return (name) => ({
    pointer: toPointer([...at, name]),
    detail: errorMessages.wrongMapName(at.join('.'), name),
  });
}
