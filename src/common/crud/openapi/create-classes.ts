import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { jsonSchemaOf } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudOutput } from '../options/crud-options.js';
import { outputClassOf } from '../definition/output.js';
import { onceFieldsOf } from '../routes/routes.js';
import {
  anyOf,
  documentedClass,
  documentField,
  partOf,
  schemaClass,
  withFields,
} from './documented-class.js';
import { expandableClass } from './expandable-class.js';
import { PageEnds } from './page-parameters.js';
import { fieldSchema, hasDefault, ID_SCHEMA, recordSchema, viewFields } from './record-schema.js';
import { CreatedResult } from './results.js';

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
