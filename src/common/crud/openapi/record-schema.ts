import type { Type } from '@nestjs/common';
import type { Schema } from 'mongoose';
import { apiOptionsOf, fieldsOf, type JsonSchema } from '../../fields/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { constantOf, nodesOf, type SchemaNode, type SchemaNodes } from '../definition/schema-paths.js';
import { isAccessor } from '../definition/output.js';
import { objectOf } from './schema-class.js';

/** An identifier, as every response contains it. */
export const ID_SCHEMA = {
  type: 'string',
  pattern: OBJECT_ID_PATTERN,
  example: '665f1c2ab7e3a90d4c8b4567',
} as const satisfies JsonSchema;

const TIMESTAMP_SCHEMA = {
  type: 'string',
  format: 'date-time',
  example: '2026-01-31T09:00:00.000Z',
} as const satisfies JsonSchema;

/**
 * OpenAPI schema of a record as clients see it: fields by their decorators if they have any, by the schema
 * otherwise.
 */
export function recordSchema(definition: CrudDefinition): JsonSchema {
  const { entity, fieldRules, schema, presenter, inputs, options } = definition;
  // Only a function knows what it shows.
  if (options.output !== undefined) return { type: 'object', additionalProperties: true };
  const fields = new Map(
    [...fieldsOf(inputs.create), ...fieldsOf(entity)].map((field) => [field.name, field]),
  );
  const nodes = nodesOf(schema);
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const name of presenter.fields) {
    const field = fields.get(name);
    properties[name] = field
      ? shownPart(field.schema, nodes.get(name))
      : { ...schemaAt(nodes, name), ...documentedAs(entity, name) };
    if (fieldRules.has(name)) continue;
    const isAlwaysSet = ['_id', 'createdAt', 'updatedAt'].includes(name);
    if (isAlwaysSet || schema.path(name)?.isRequired || field?.required || hasDefault(schema, name)) {
      required.push(name);
    }
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

/**
 * The part of a nested class that clients see: without the members that the record's schema hides, and with
 * those that only the schema has, such as an identifier.
 */
export function shownPart(described: JsonSchema, node: SchemaNode | undefined): JsonSchema {
  const { items, properties, required = [], ...rest } = described;
  if (items && node) return { ...described, items: shownPart(items, node.entries ?? node) };
  const { members, schema } = node ?? {};
  if (!properties || !members) return described;
  const isShown = (name: string) => members.get(name)?.isHidden !== true;
  const shown = Object.entries(properties).filter(([name]) => isShown(name));
  const { _id, ...others } = schema ? membersOf(members) : {};
  const kept = required.filter(isShown);
  return {
    ...rest,
    properties: {
      ...(_id && { _id }),
      ...Object.fromEntries(shown.map(([name, member]) => [name, shownPart(member, members.get(name))])),
      ...Object.fromEntries(Object.entries(others).filter(([name]) => !(name in properties))),
    },
    // OpenAPI 3.0.3 has no empty list.
    ...(kept.length > 0 && { required: kept }),
  };
}

/**
 * The schema of an output class. The fields that it copies from the record are shown as the record shows them; what a
 * getter or a function returns is as the class says.
 */
export function viewSchema({ fieldRules, schema, options }: CrudDefinition, view: Type<object>): JsonSchema {
  const nodes = nodesOf(schema);
  const isCopied = (name: string) => options.output === view && !isAccessor(view, name);
  const fields = fieldsOf(view).map(({ name, schema: described, required }) => ({
    name,
    schema: isCopied(name) ? shownPart(described, nodes.get(name)) : described,
    required: (required || hasDefault(schema, name)) && !fieldRules.has(name),
  }));
  return objectOf([...fields, { name: '_id', schema: ID_SCHEMA, required: true }]);
}

/** Schema of one field, whether or not clients usually see it. */
export function fieldSchema({ entity, schema }: CrudDefinition, name: string): JsonSchema {
  const field = fieldsOf(entity).find((candidate) => candidate.name === name);
  return field?.schema ?? { ...schemaAt(nodesOf(schema), name), ...documentedAs(entity, name) };
}

/** Whether a field has a value even if a create omits it. A function as the default may return none. */
function hasDefault(schema: Schema, name: string): boolean {
  return constantOf(schema.path(name)) !== undefined;
}

/** Options of `@ApiProperty()` that say more than the schema type does. */
function documentedAs(entity: CrudDefinition['entity'], name: string): JsonSchema {
  const { type, required: _required, isArray: _isArray, name: _name, ...rest } = apiOptionsOf(entity, name);
  return typeof type === 'string' ? { ...rest, type: type as JsonSchema['type'] } : rest;
}

/** Mongoose types that have their own form in JSON. */
const SCALARS: Readonly<Record<string, JsonSchema>> = {
  String: { type: 'string' },
  Number: { type: 'number' },
  Double: { type: 'number' },
  Int32: { type: 'integer' },
  Boolean: { type: 'boolean' },
  Date: TIMESTAMP_SCHEMA,
  ObjectId: ID_SCHEMA,
  Decimal128: { type: 'string', example: '12.50' },
  BigInt: { type: 'string', format: 'int64', example: '9007199254740993' },
  UUID: { type: 'string', format: 'uuid' },
  Buffer: { type: 'string', format: 'byte' },
};

function schemaAt(nodes: SchemaNodes, name: string): JsonSchema {
  const node = nodes.get(name);
  return node ? schemaOfNode(node) : { type: 'object' };
}

/** Number of levels of subdocuments that the document shows; deeper ones are open objects. */
const MAX_DEPTH = 4;

function schemaOfNode({ entries, members, type }: SchemaNode, depth = 0): JsonSchema {
  const entry = entries && schemaOfNode(entries, depth);
  if (type?.instance === 'Map') return { type: 'object', additionalProperties: entry ?? true };
  const properties = members && depth < MAX_DEPTH ? { properties: membersOf(members, depth + 1) } : {};
  const value: JsonSchema | undefined = members ? { type: 'object', ...properties } : entry;
  if (type?.instance === 'Array') return { type: 'array', items: value ?? {} };
  return value ?? SCALARS[type?.instance ?? ''] ?? {};
}

/** The members that clients see. */
function membersOf(nodes: SchemaNodes, depth = 1): Record<string, JsonSchema> {
  const visible = [...nodes].filter(([, { isHidden }]) => !isHidden);
  return Object.fromEntries(visible.map(([name, node]) => [name, schemaOfNode(node, depth)]));
}
