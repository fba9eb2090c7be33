import type { Type } from '@nestjs/common';
import type { Schema } from 'mongoose';
import { apiOptionsOf, fieldAt, fieldsOf, type JsonSchema } from '../../fields/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { constantOf, nodesOf, type SchemaNode, type SchemaNodes } from '../schema/schema-paths.js';
import { isAccessor } from '../definition/output.js';

/** An identifier, as every response contains it. */
export const ID_SCHEMA = {
  type: 'string',
  pattern: OBJECT_ID_PATTERN,
  example: '665f1c2ab7e3a90d4c8b4567',
} as const satisfies JsonSchema;

/**
 * OpenAPI schema of a record as clients see it: fields by their decorators if they have any, by the schema otherwise.
 *
 * @param ofKind the input of its kind, if records are of several: fields that only others have are left out
 */
export function recordSchema(definition: CrudDefinition, ofKind?: Type<object>): JsonSchema {
  const { entity, fieldRules, inputs, schema, presenter, options } = definition;
  // Only a function knows what it shows.
  if (options.output !== undefined) return { type: 'object', additionalProperties: true };
  const input = ofKind ?? inputs.create;
  const names = presenter.fields.filter((name) => fieldAt(input, name) ?? !fieldAt(inputs.create, name));
  const isAlwaysSet = (name: string) =>
    ['_id', 'createdAt', 'updatedAt'].includes(name) ||
    schema.path(name)?.isRequired ||
    (fieldAt(entity, name) ?? fieldAt(input, name))?.required ||
    (ofKind && fieldAt(ofKind, name)?.required) ||
    hasDefault(schema, name);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(definition, name, input)])),
    required: names.filter((name) => !fieldRules.has(name) && isAlwaysSet(name)),
    additionalProperties: false,
  };
}

/** Schema of one field of the record, whether or not clients usually see it. */
export function fieldSchema(
  { entity, inputs, schema }: CrudDefinition,
  name: string,
  input: Type<object> = inputs.create,
): JsonSchema {
  const field = fieldAt(entity, name) ?? fieldAt(input, name);
  const node = nodesOf(schema).get(name);
  if (field) return shownPart(field.schema, node);
  const documented = apiOptionsOf(entity, name);
  const { type, required: _required, isArray: _isArray, name: _name, ...rest } = documented;
  return {
    ...(node ? schemaOfNode(node) : { type: 'object' }),
    ...rest,
    ...(typeof type === 'string' && { type: type as JsonSchema['type'] }),
  };
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
  const fields = fieldsOf(view);
  const shown = fields.map(({ name, schema: described }) => {
    return [name, isCopied(name) ? shownPart(described, nodes.get(name)) : described] as const;
  });
  const always = fields.filter(
    ({ name, required }) => (required || hasDefault(schema, name)) && !fieldRules.has(name),
  );
  return {
    properties: { ...Object.fromEntries(shown), _id: ID_SCHEMA },
    required: [...always.map(({ name }) => name), '_id'],
  };
}

/** Whether a field has a value even if a create omits it. A function as the default may return none. */
function hasDefault(schema: Schema, name: string): boolean {
  return constantOf(schema.path(name)) !== undefined;
}

/** Mongoose types that have their own form in JSON. */
const SCALARS: Readonly<Record<string, JsonSchema>> = {
  String: { type: 'string' },
  Number: { type: 'number' },
  Double: { type: 'number' },
  Int32: { type: 'integer' },
  Boolean: { type: 'boolean' },
  Date: { type: 'string', format: 'date-time', example: '2026-01-31T09:00:00.000Z' },
  ObjectId: ID_SCHEMA,
  Decimal128: { type: 'string', example: '12.50' },
  BigInt: { type: 'string', format: 'int64', example: '9007199254740993' },
  UUID: { type: 'string', format: 'uuid' },
  Buffer: { type: 'string', format: 'byte' },
};

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
