import type { Type } from '@nestjs/common';
import { type FieldDescription, sourcesOf } from './field-source.js';
import { valueSchemaOf } from './json-schema.js';
import { apiNamesOf, propsOf, validationsOf } from './metadata.js';

const known = new WeakMap<Type<object>, readonly FieldDescription[]>();

/** Fields of a class in order of declaration, base classes first. */
export function fieldsOf(target: Type<object>): readonly FieldDescription[] {
  const fields =
    known.get(target) ??
    sourcesOf(target).map(({ declaration, ...source }) => ({
      ...source,
      ...(declaration && { isDeclared: true }),
      schema: valueSchemaOf(source),
    }));
  known.set(target, fields);
  return fields;
}

/** The field at a dotted path of a class; undefined without a decorated field there. */
export function fieldAt(target: Type<object>, path: string): FieldDescription | undefined {
  const [name, ...rest] = path.split('.');
  const field = fieldsOf(target).find((candidate) => candidate.name === name);
  if (rest.length === 0) return field;
  return field?.nested && fieldAt(field.nested, rest.join('.'));
}

/**
 * Names that a class declares without any validation decorator: its own instance properties, and fields with
 * `@Prop()` or `@ApiProperty()`.
 */
export function unvalidatedFieldsOf(target: Type<object>): readonly string[] {
  const validated = new Set(validationsOf(target).map(({ propertyName }) => propertyName));
  const declared = [...instanceNamesOf(target), ...propsOf(target).keys(), ...apiNamesOf(target)];
  return [...new Set(declared)].filter((name) => !validated.has(name));
}

function instanceNamesOf(target: Type<object>): string[] {
  try {
    const entries = Object.entries(new target());
    return entries.filter(([, value]) => typeof value !== 'function').map(([name]) => name);
  } catch {
    // A constructor that requires arguments cannot be called to find out.
    return [];
  }
}
