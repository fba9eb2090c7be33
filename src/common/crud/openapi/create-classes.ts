import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { type JsonSchema, jsonSchemaOf } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { outputClassOf } from '../definition/output.js';
import type { CrudOutput } from '../options/crud-options.js';
import { onceFieldsOf } from '../routes/routes.js';
import {
  anyOf,
  CreatedResult,
  documentedClass,
  documentField,
  partOf,
  schemaClass,
  withFields,
} from './documented-class.js';
import { PageEnds } from './query-parameters.js';
import { fieldSchema, hasDefault, ID_SCHEMA, recordSchema, viewFields } from './record-schema.js';

/** The classes that describe a resource's bodies in the document. */
export interface CrudClasses {
  readonly create: Type<object>;
  readonly update: Type<object>;
  readonly record: Type<object>;
  /** The record as reads return it; differs from `record` if it has references that can be expanded. */
  readonly read: Type<object>;
  /** A record with only the requested `fields`; undefined if no field of a record is required anyway. */
  readonly part?: Type<object>;
  readonly page: Type<object>;
  /** The response to a create: the identifier, or the whole record. */
  readonly created: readonly Type<object>[];
}

/**
 * Makes the documented classes of a resource, each with a unique name: classes that share one would share a
 * schema.
 */
export function createClasses(definition: CrudDefinition): CrudClasses {
  const { label, inputs, list } = definition;
  const record = recordClass(definition);
  const read = expandableClass(record, definition);
  const part = definition.options.output !== undefined && !outputOf(definition) ? undefined : partOf(read);
  class Page extends pageOf(part ? [read, part] : [read], list.maxLimit) {}
  Object.defineProperty(Page, 'name', { value: `${label}Page` });
  return {
    create: schemaClass(`${label}Create`, jsonSchemaOf(inputs.create)),
    update: schemaClass(`${label}Update`, jsonSchemaOf(inputs.update, { partial: true })),
    record,
    ...(part && { part }),
    read,
    page: Page,
    created: createdClasses(record, definition),
  };
}

/** The responses to a create, including the fields that only they show. */
function createdClasses(record: Type<object>, definition: CrudDefinition): Type<object>[] {
  const names = onceFieldsOf(definition);
  if (names.length === 0) return [CreatedResult, record];
  const fields = Object.fromEntries(names.map((name) => [name, fieldSchema(definition, name)]));
  const { label } = definition;
  return [
    withFields(CreatedResult, `${label}CreatedResult`, fields),
    withFields(record, `${label}Created`, fields),
  ];
}

/** The class of one page of records. */
function pageOf(records: Type<object>[], maxItems: number): Type<object> {
  @ApiExtraModels(...records)
  class Page extends PageEnds {
    @ApiProperty({ type: 'array', items: anyOf(records), maxItems })
    results!: object[];

    @ApiProperty({
      type: 'integer',
      minimum: 0,
      required: false,
      description: 'Number of records in all, whatever the page; absent with `count=none`',
    })
    count?: number;
  }
  return Page;
}

function recordClass(definition: CrudDefinition): Type<object> {
  const { label } = definition;
  const view = outputOf(definition);
  if (!view) return schemaClass(label, recordSchema(definition));
  class View extends documentedClass(view, label) {}
  for (const { name, schema, required } of viewFields(definition, view)) {
    documentField(View, name, schema, required || hasDefault(definition.schema, name));
  }
  ApiProperty(ID_SCHEMA)(View.prototype, '_id');
  Object.defineProperty(View, 'name', { value: label });
  return View;
}

function outputOf({ options }: CrudDefinition): Type<object> | undefined {
  return outputClassOf(options.output as CrudOutput<object> | undefined);
}

/**
 * The documented class of a record with expandable references: each is an identifier, or the record that it
 * refers to. Without such references, the class of the record itself.
 */
function expandableClass(record: Type<object>, definition: CrudDefinition): Type<object> {
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
