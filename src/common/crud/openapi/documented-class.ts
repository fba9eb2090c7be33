import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath, PartialType } from '@nestjs/swagger';
import { apiNamesOf, apiOptionsOf, fieldsOf, type JsonSchema } from '../../fields/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';

const documented = new WeakMap<Type<object>, Map<string, Type<object>>>();

/**
 * A class that Nest's documentation describes completely, including every field with a field decorator or
 * class-validator decorators, not only those with `@ApiProperty()`. The original class is not changed.
 */
export function documentedClass(type: Type<object>, name = type.name): Type<object> {
  const known = documented.get(type) ?? new Map<string, Type<object>>();
  documented.set(type, known);
  const found = known.get(name) ?? subclass(type, name);
  known.set(name, found);
  return found;
}

function subclass(type: Type<object>, name: string): Type<object> {
  class Documented extends (type as Type<object>) {}
  for (const { name: field, schema, required } of fieldsOf(type)) {
    documentField(Documented, field, schema, required);
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/**
 * Has Nest's documentation describe a field of a class. The list `required` of an object says which of its members are; then
 * Nest reads from `selfRequired` whether the object itself is.
 */
export function documentField(
  { prototype }: Type<object>,
  field: string,
  schema: JsonSchema,
  required: boolean,
): void {
  const options = schema.required ? { ...schema, selfRequired: required } : { ...schema, required };
  ApiProperty(withType(options) as ApiPropertyOptions)(prototype as object, field);
}

/**
 * Nest takes a property without a type for one of a class that is not loaded yet. It removes the type of one that
 * can be of several.
 */
function withType(options: object): object {
  if (['type', 'enum'].some((keyword) => keyword in options)) return options;
  const isChoice = ['oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in options);
  return { ...(!isChoice && { anyOf: [{}] }), ...options, type: 'object' };
}

/** A class with the given object schema in Nest's documentation. */
export function schemaClass(name: string, { properties = {}, required = [] }: JsonSchema): Type<object> {
  class Documented {}
  for (const [field, schema] of Object.entries(properties)) {
    documentField(Documented, field, schema, required.includes(field));
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/** A class with additional fields, all optional. */
export function withFields(
  type: Type<object>,
  name: string,
  fields: Readonly<Record<string, JsonSchema>>,
): Type<object> {
  class Extended extends (type as Type<object>) {}
  for (const [field, schema] of Object.entries(fields)) {
    documentField(Extended, field, schema, false);
  }
  Object.defineProperty(Extended, 'name', { value: name });
  return Extended;
}

/** The class of a record reduced by `fields`: any of its fields, and the identifier. */
export function partOf(record: Type<object>): Type<object> {
  class Part extends PartialType(record) {}
  for (const name of apiNamesOf(record)) {
    const { selfRequired, ...schema } = apiOptionsOf(record, name);
    if (selfRequired !== undefined) documentField(Part, name, schema, false);
  }
  ApiProperty({ required: true })(Part.prototype, '_id');
  Object.defineProperty(Part, 'name', { value: `${record.name}Part` });
  return Part;
}

/** The schema of a value of any of several classes. */
export function anyOf(classes: readonly Type<unknown>[]) {
  const references = classes.map((one) => ({ $ref: getSchemaPath(one) }));
  return references.length > 1 ? { anyOf: references } : (references[0] ?? {});
}

/** The response to a count. */
export class CountResult {
  @ApiProperty({ type: 'integer', minimum: 0, example: 42 })
  count!: number;
}

/** The response to a create that does not ask for a representation. */
export class CreatedResult {
  @ApiProperty({
    description: 'Identifier of the new record',
    pattern: OBJECT_ID_PATTERN,
    example: '665f1c2ab7e3a90d4c8b4567',
  })
  _id!: string;
}

/** The response to an update. */
export class UpdatedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  updated!: true;
}

/** The response to a delete that archives. */
export class ArchivedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  archived!: true;
}

/** The response to a restore. */
export class RestoredResult {
  @ApiProperty({ enum: [true], type: Boolean })
  restored!: true;
}

/** The response to a delete. */
export class DeletedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  deleted!: true;
}
