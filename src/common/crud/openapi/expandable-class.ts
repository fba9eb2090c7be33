import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import type { JsonSchema } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { outputClassOf } from '../definition/output.js';
import type { CrudOutput } from '../options/crud-options.js';
import { documentField } from './documented-class.js';
import { ID_SCHEMA, recordSchema, viewFields } from './record-schema.js';

/**
 * The documented class of a record with expandable references: each is an identifier, or the record that it
 * refers to. Without such references, the class of the record itself.
 */
export function expandableClass(record: Type<object>, definition: CrudDefinition): Type<object> {
  const members = new Map<string, JsonSchema>();
  const schema = shownSchema(definition);
  for (const { path, to } of definition.expandable.values()) {
    const [name = path, ...rest] = path.split('.');
    const member = members.get(name) ?? schema.properties?.[name];
    if (member) members.set(name, expandedAt(member, rest, to));
  }
  if (members.size === 0) return record;
  class Expandable extends record {}
  for (const [name, member] of members) {
    documentField(Expandable, name, member, schema.required?.includes(name) ?? false);
  }
  Object.defineProperty(Expandable, 'name', { value: `${definition.label}Expandable` });
  return Expandable;
}

/** The fields that clients see, as far as they are declared: a function may show anything. */
function shownSchema(definition: CrudDefinition): JsonSchema {
  const view = outputClassOf(definition.options.output as CrudOutput<object> | undefined);
  if (!view) return recordSchema(definition);
  const fields = viewFields(definition, view);
  const undeclared = [...definition.expandable.keys()].filter((path) => !path.includes('.'));
  return {
    properties: {
      ...Object.fromEntries(undeclared.map((name) => [name, ID_SCHEMA])),
      ...Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    },
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  };
}

/** Replaces the end of a path in a schema with "an identifier or a record", walking into lists on the way. */
function expandedAt(schema: JsonSchema, path: readonly string[], to: Type<object>): JsonSchema {
  if (schema.items) return { ...schema, items: expandedAt(schema.items, path, to) };
  const [name, ...rest] = path;
  if (name === undefined) return { oneOf: [schema, { $ref: getSchemaPath(to) }] };
  const member = schema.properties?.[name];
  if (!member) return schema;
  return { ...schema, properties: { ...schema.properties, [name]: expandedAt(member, rest, to) } };
}
