import type { Type } from '@nestjs/common';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { documentedDefault, FieldDeclaration, type FieldDescription } from './field-rule.js';
import { type JsonSchema, nullable } from './json-schema.js';
import {
  apiNamesOf,
  apiOptionsOf,
  isConditional,
  lineageOf,
  oncePerClass,
  propsOf,
  validationsOf,
} from './metadata.js';
import { readPlainField, schemaOfType } from './plain-rules.js';

/** {@link fieldsOf}, where the schema of a nested class only says that it is an object. */
export const sourcesOf = oncePerClass((target): readonly FieldDescription[] => {
  const validations = validationsOf(target);
  const names = lineageOf(target)
    .flatMap(validationsOf)
    .map(({ propertyName }) => propertyName);
  return [...new Set(names)].map((name) =>
    sourceOf(
      target,
      name,
      validations.filter(({ propertyName }) => propertyName === name),
    ),
  );
});

function sourceOf(target: Type<object>, name: string, validations: ValidationMetadata[]): FieldDescription {
  const declaration = validations
    .map(({ constraints }) => (constraints as unknown[] | undefined)?.[0])
    .find((first) => first instanceof FieldDeclaration);
  const read = declaration ? declared(target, name, declaration) : readPlainField(target, name, validations);
  const prop = propsOf(target).get(name);
  const value = declaration?.options.default ?? (prop && 'default' in prop ? prop.default : undefined);
  const preset = documentedDefault(value);
  const schema = { ...read.schema, ...(preset !== undefined && { default: preset }) };
  return {
    ...read,
    name,
    required: !validations.some(isConditional),
    default: value,
    schema: withApiOptions(schema, apiOptionsOf(target, name), read.list),
  };
}

function declared(
  target: Type<object>,
  name: string,
  declaration: FieldDeclaration,
): Omit<FieldDescription, 'name' | 'required'> {
  const { kind, list = false, nested, reference, values } = declaration.rule;
  return {
    kind,
    list,
    nested: nested && nestedClassOf(target, name, nested),
    reference,
    values,
    schema: declaration.schema,
    declaration,
  };
}

function nestedClassOf(target: Type<object>, name: string, nested: () => Type<object>): Type<object> {
  const type = nested() as Type<object> | undefined;
  if (type) return type;
  throw new Error(
    `The nested class of ${target.name}.${name} is undefined. Two files that import each other do that: move one class.`,
  );
}

/** Keys of `@ApiProperty()` that describe the field rather than its value. */
const OF_FIELD = new Set(['required', 'selfRequired', 'isArray', 'enumName', 'enumSchema', 'name', 'link']);

/** Merges the author's `@ApiProperty()` options over a derived schema. */
function withApiOptions(
  derived: JsonSchema,
  { type, items, enum: choices, ...rest }: Readonly<Record<string, unknown>>,
  list: boolean,
): JsonSchema {
  const keywords = Object.fromEntries(
    Object.entries(rest).filter(([key, value]) => value !== undefined && !OF_FIELD.has(key)),
  );
  const described = (list ? derived.items : derived) ?? {};
  // @nestjs/swagger adds the type of TypeScript, and calls an enum of strings and numbers a string.
  const isInferred = typeof type === 'function' ? described.type : !described.type && described.enum;
  const written = typeof type === 'string' ? { type } : schemaOfType(type);
  const ofValue = {
    ...(!isInferred && written),
    ...(choices !== undefined && { enum: choices }),
  } as JsonSchema;
  const schema = { ...derived, ...keywords };
  if (!list || ofValue.type === 'array') {
    return { ...schema, ...ofValue, ...(items !== undefined && { items: items as JsonSchema }) };
  }
  return { ...schema, items: { ...derived.items, ...ofValue, ...(items as JsonSchema | undefined) } };
}

/** Fields of a class in order of declaration, base classes first. */
export const fieldsOf = oncePerClass((target): readonly FieldDescription[] =>
  sourcesOf(target).map((source) => ({ ...source, schema: fieldSchema(source, false, []) })),
);

/** The field at a dotted path of a class; undefined without a decorated field there. */
export function fieldAt(target: Type<object>, path: string): FieldDescription | undefined {
  const [name, ...rest] = path.split('.');
  const field = fieldsOf(target).find((candidate) => candidate.name === name);
  if (rest.length === 0) return field;
  return field?.nested && fieldAt(field.nested, rest.join('.'));
}

/** Names of a class without any validation decorator: instance properties, and fields with `@Prop()` or `@ApiProperty()`. */
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

/** How many levels of a class that contains itself are described; deeper ones are open objects. */
const MAX_RECURSION = 4;

/** How {@link jsonSchemaOf} describes a class. */
interface SchemaOptions {
  /** Whether to describe a merge patch (RFC 7396). @default false */
  partial?: boolean;
}

/** OpenAPI object schema of a class, with nested classes inlined and no additional members. */
export function jsonSchemaOf(target: Type<object>, { partial = false }: SchemaOptions = {}): JsonSchema {
  return objectSchema(target, partial, []);
}

type Path = readonly Type<object>[];

function objectSchema(target: Type<object>, partial: boolean, path: Path): JsonSchema {
  if (path.length >= MAX_RECURSION && path.includes(target)) return { type: 'object' };
  const sources = sourcesOf(target);
  const here = [...path, target];
  const properties = Object.fromEntries(
    sources.map((source) => {
      const schema = fieldSchema(source, partial, here);
      return [source.name, partial && !source.required ? nullable(schema) : schema];
    }),
  );
  const required = partial ? [] : sources.filter((source) => source.required).map(({ name }) => name);
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema({ nested, list, schema }: FieldDescription, partial: boolean, path: Path): JsonSchema {
  if (!nested) return schema;
  if (!list) return { ...objectSchema(nested, partial, path), ...withoutShape(schema) };
  return { ...schema, items: { ...objectSchema(nested, false, path), ...withoutShape(schema.items ?? {}) } };
}

function withoutShape({ type: _type, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
