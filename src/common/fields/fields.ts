import type { Type } from '@nestjs/common';
import type { SchemaDefinitionProperty } from 'mongoose';
import type { FieldKind } from './field-rule.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { valueSchemaOf, type JsonSchema } from './json-schema.js';
import { apiNamesOf, propsOf, validationsOf } from './metadata.js';
import { storeOf } from './store-of.js';

/** A field of a class, as its decorators describe it. */
export interface FieldDescription {
  readonly name: string;
  /** Whether a create must contain it. */
  readonly required: boolean;
  readonly kind: FieldKind;
  /** Whether it holds a list of that kind. */
  readonly list: boolean;
  /** Class of the nested object, or of a list's entries. */
  readonly nested?: Type<object>;
  /** Target class of a reference. */
  readonly reference?: () => Type<object>;
  /** Stored if a create omits the field. */
  readonly default?: unknown;
  /** Values of an enum. */
  readonly values?: readonly (string | number)[];
  /** OpenAPI 3.0 schema of the field's value, with nested classes inlined. */
  readonly schema: JsonSchema;
  /** Mongoose's definition of the path, for a field decorator; undefined for plain class-validator fields. */
  readonly store?: SchemaDefinitionProperty;
}

const known = new WeakMap<Type<object>, readonly FieldDescription[]>();

/** Fields of a class in order of declaration, base classes first. */
export function fieldsOf(target: Type<object>): readonly FieldDescription[] {
  const fields = known.get(target) ?? sourcesOf(target).map(describe);
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

function describe({ declaration, ...source }: FieldSource): FieldDescription {
  const description = { ...source, schema: valueSchemaOf(source) };
  if (!declaration) return description;
  return {
    ...description,
    // A new one each time: Mongoose keeps and changes the schemas of nested classes.
    get store() {
      return storeOf({ ...source, declaration });
    },
  };
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
