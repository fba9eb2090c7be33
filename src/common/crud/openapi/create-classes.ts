import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import { getSchemaPath, PartialType } from '@nestjs/swagger';
import { type JsonSchema, jsonSchemaOf } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { KIND } from '../definition/kinds.js';
import { onceFieldsOf } from '../routes/routes.js';
import { whereClass } from './parameters.js';
import { fieldSchema, ID_SCHEMA, recordSchema, viewSchema } from './record-schema.js';
import { anyOf, asUnion, CreatedResult, refTo, schemaClass } from './schema-class.js';

/** The classes that name the schemas of a resource in the document. */
export interface CrudClasses {
  readonly create: Type<object>;
  readonly update: Type<object>;
  readonly record: Type<object>;
  /** The record as reads return it, with references that can be expanded, whole and with only the requested `fields`. */
  readonly reads: readonly Type<object>[];
  readonly page: Type<object>;
  /** The conditions of a query in a body. */
  readonly where: Type<object>;
  /** The response to a create: the identifier, or the whole record. */
  readonly created: readonly Type<object>[];
}

export function createClasses(definition: CrudDefinition): CrudClasses {
  const { entity, label, list, options } = definition;
  // An output has fields of its own.
  const inputs = options.output === undefined ? [...(definition.kinds ?? [])] : [];
  // References name the entity, here and in other resources.
  const named = inputs.map(([kind]) => [kind, schemaClass(nameOfKind(label, kind), {})] as const);
  asUnion(entity, named);
  const view = definition.output?.type;
  const schema = view ? viewSchema(definition, view) : recordSchema(definition);
  const expanded = expandedMembers(schema, definition);
  const isExpandable = Object.keys(expanded).length > 0;
  const readOf = (of: Type<object>, { required }: JsonSchema, properties = expanded) =>
    isExpandable ? schemaClass(`${of.name}Expandable`, { properties, required }, of) : of;
  const record = schemaClass(label, schema, view);
  const read = readOf(record, schema);
  const kinds = inputs.map(([kind, input]) => {
    const shown = recordSchema(definition, input);
    const ofKind = schemaClass(nameOfKind(label, kind), shown);
    const own = Object.entries(expanded).filter(([name]) => name in (shown.properties ?? {}));
    return { kind, shown, record: ofKind, read: readOf(ofKind, shown, Object.fromEntries(own)) };
  });
  const byKind = (form: 'record' | 'read') => kinds.map((one) => [one.kind, one[form]] as const);
  asUnion(record, byKind('record'));
  asUnion(read, byKind('read'));
  const shown = kinds.map((one) => one.shown);
  const properties = { ...ofAnyKind(schema, shown).properties, ...expanded };
  const part = schemaClass(`${read.name}Part`, { properties, required: ['_id'] }, view && PartialType(view));
  // What a function shows has no required fields anyway.
  const reads = options.output !== undefined && !view ? [read] : [read, part];
  return {
    create: createClass(definition),
    update: schemaClass(`${label}Update`, updateSchema(definition)),
    record,
    reads,
    page: schemaClass(`${label}Page`, pageSchema(reads, list.maxLimit)),
    where: whereClass(definition),
    created: createdClasses(record, definition),
  };
}

/** What a create takes, of each kind. */
function createClass({ inputs, kinds = new Map(), label }: CrudDefinition): Type<object> {
  const classOf = (name: string, input: Type<object>) => schemaClass(`${name}Create`, jsonSchemaOf(input));
  const ofKinds = [...kinds].map(([kind, input]) => [kind, classOf(nameOfKind(label, kind), input)] as const);
  return asUnion(classOf(label, inputs.create), ofKinds);
}

/** What an update takes: of each field, what any kind does. */
function updateSchema({ inputs, kinds = new Map() }: CrudDefinition): JsonSchema {
  const patchSchema = (type: Type<object>) => jsonSchemaOf(type, { partial: true });
  return ofAnyKind(patchSchema(inputs.update), [...kinds.values()].map(patchSchema));
}

/** A schema in which each field is as in any of those of the kinds. */
function ofAnyKind(whole: JsonSchema, kinds: readonly JsonSchema[]): JsonSchema {
  const properties = Object.entries(whole.properties ?? {}).map(([name, schema]) => {
    const given = kinds.flatMap(({ properties: own }) => own?.[name] ?? []);
    const distinct = given.filter(
      (one, i) => given.findIndex((other) => isDeepStrictEqual(one, other)) === i,
    );
    return [name, name === KIND || distinct.length < 2 ? schema : { anyOf: distinct }] as const;
  });
  return { ...whole, properties: Object.fromEntries(properties) };
}

/** Reference to the schema of a resource's records, or to those of its kinds, in a document that has its routes. */
export function recordReference({ kinds, label, options }: CrudDefinition) {
  if (!kinds || options.output !== undefined) return { $ref: getSchemaPath(label) };
  return { oneOf: [...kinds.keys()].map((kind) => ({ $ref: getSchemaPath(nameOfKind(label, kind)) })) };
}

/** Ends of the names of the other schemas of a resource. */
const TAKEN = ['Create', 'Expandable', 'Page', 'Part', 'Update', 'Where'];

/** Name of the schema of the records of a kind. */
function nameOfKind(label: string, kind: string): string {
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  return `${label}${name}${TAKEN.includes(name) ? 'Kind' : ''}`;
}

/** The responses to a create, including the fields that only they show. */
function createdClasses(record: Type<object>, definition: CrudDefinition): Type<object>[] {
  const names = onceFieldsOf(definition);
  if (names.length === 0) return [CreatedResult, record];
  const properties = Object.fromEntries(names.map((name) => [name, fieldSchema(definition, name)]));
  const { label } = definition;
  return [
    schemaClass(`${label}CreatedResult`, { properties }, CreatedResult),
    schemaClass(`${label}Created`, { properties }, record),
  ];
}

/** One page of records. */
function pageSchema(records: readonly Type<object>[], maxItems: number): JsonSchema {
  const cursor = (description: string, example: string | null): JsonSchema => {
    return { type: 'string', nullable: true, description, example };
  };
  return {
    properties: {
      next: cursor(
        'Cursor of the next page (`after`); null on the last one',
        'qL0r3yCkSYpWcQ1xJ8mOSzEAAAAEYXQAEAAAAAkw',
      ),
      prev: cursor('Cursor of the previous page (`before`); null on the first one', null),
      results: { type: 'array', items: anyOf(records), maxItems },
      count: {
        type: 'integer',
        minimum: 0,
        description: 'Number of records in all, whatever the page; absent with `count=none`',
      },
    },
    required: ['next', 'prev', 'results'],
  };
}

/** The members of a record with expandable references: each is an identifier, or the record that it refers to. */
function expandedMembers(
  { properties = {} }: JsonSchema,
  { expandable, output }: CrudDefinition,
): Record<string, JsonSchema> {
  const members: Record<string, JsonSchema> = {};
  for (const { path, to } of expandable.values()) {
    const [name = path, ...rest] = path.split('.');
    const isUndeclared = output?.type && rest.length === 0;
    const member = members[name] ?? properties[name] ?? (isUndeclared ? ID_SCHEMA : undefined);
    if (member) members[name] = { ...properties[name], ...expandedAt(member, rest, to) };
  }
  return members;
}

/** Replaces the end of a path in a schema with "an identifier or a record", walking into lists on the way. */
function expandedAt(schema: JsonSchema, path: readonly string[], to: Type<object>): JsonSchema {
  if (schema.items) return { ...schema, items: expandedAt(schema.items, path, to) };
  const [name, ...rest] = path;
  if (name === undefined) return { oneOf: [schema, refTo(to)] };
  const member = schema.properties?.[name];
  if (!member) return schema;
  return { ...schema, properties: { ...schema.properties, [name]: expandedAt(member, rest, to) } };
}
