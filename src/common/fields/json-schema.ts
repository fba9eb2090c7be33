import type { Type } from '@nestjs/common';
import { type FieldDescription, sourcesOf } from './field-source.js';

/** The part of an OpenAPI 3.0 schema object (section "Schema Object") that fields need. */
export interface JsonSchema {
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  format?: string;
  description?: string;
  example?: unknown;
  default?: unknown;
  nullable?: boolean;
  enum?: (string | number | boolean | null)[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  /** Other keywords, from `@ApiProperty()` options. */
  [keyword: string]: unknown;
}

/** How many levels of a class that contains itself are described; deeper ones are open objects. */
const MAX_RECURSION = 4;

/** How {@link jsonSchemaOf} describes a class. */
export interface SchemaOptions {
  /**
   * Whether to describe a merge patch (RFC 7396): nothing is required, optional fields are nullable, nested
   * objects are partial, too, and lists are whole. @default false
   */
  partial?: boolean;
}

/** OpenAPI object schema of a class, with nested classes inlined and no additional members. */
export function jsonSchemaOf(target: Type<object>, { partial = false }: SchemaOptions = {}): JsonSchema {
  return objectSchema(target, partial, []);
}

/** Schema of a field's value, with nested classes inlined. */
export function valueSchemaOf(source: FieldDescription): JsonSchema {
  return fieldSchema(source, false, []);
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

/** OpenAPI 3.0.3: null must also be one of the values of an enum. */
function nullable(schema: JsonSchema): JsonSchema {
  return { ...schema, nullable: true, ...(schema.enum && { enum: [...schema.enum, null] }) };
}
