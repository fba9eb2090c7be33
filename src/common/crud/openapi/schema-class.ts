import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { fieldsOf, type JsonSchema } from '../../fields/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';
import { KIND } from '../definition/kinds.js';

/**
 * Names a schema in Nest's document, which takes only classes: the fields of the schema, and those that Nest knows
 * of the class that this one extends.
 *
 * @param name unique in the application: classes that share one share a schema
 */
export function schemaClass(
  name: string,
  { properties = {}, required = [] }: JsonSchema,
  base: Type<object> = Object,
): Type<object> {
  class Documented extends base {}
  for (const [field, schema] of Object.entries(properties)) {
    documentField(Documented, field, schema, required.includes(field));
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/**
 * The list `required` of an object says which of its members are; then Nest reads from `selfRequired` whether the
 * object itself is.
 */
function documentField({ prototype }: Type<object>, field: string, schema: JsonSchema, required: boolean) {
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

/** A class with every field that its decorators describe, not only those with `@ApiProperty()`. */
export function documentedClass(type: Type<object>): Type<object> {
  return schemaClass(type.name, objectOf(fieldsOf(type)), type);
}

interface Member {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

/** The schema of an object with these fields. */
export function objectOf(fields: readonly Member[]): JsonSchema {
  return {
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  };
}

/** The classes that stand for one of several, by the value of their member `kind`. */
const unions = new WeakMap<Type<unknown>, ReadonlyMap<string, Type<unknown>>>();

/** Has references to a class name those of its kinds. */
export function asUnion(type: Type<object>, kinds: ReadonlyMap<string, Type<object>>): Type<object> {
  unions.set(type, kinds);
  return type;
}

/** A class, or those of its kinds. */
export function modelsOf(type: Type<unknown>): readonly Type<unknown>[] {
  return [...(unions.get(type)?.values() ?? [type])];
}

/** Reference to the schema of a class, or to one of its kinds. */
export function refTo(type: Type<unknown>): JsonSchema & { $ref?: string } {
  const kinds = unions.get(type);
  if (!kinds) return { $ref: getSchemaPath(type) };
  const mapping = [...kinds].map(([kind, one]) => [kind, getSchemaPath(one)]);
  const discriminator = {
    propertyName: KIND,
    mapping: Object.fromEntries(mapping) as Record<string, string>,
  };
  return { oneOf: [...kinds.values()].map((one) => refTo(one)), discriminator };
}

/** The schema of a value of any of several classes. */
export function anyOf(classes: readonly Type<unknown>[]) {
  const references = classes.map(refTo);
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

const Always = ApiProperty({ enum: [true], type: Boolean });

/** The response to an update. */
export class UpdatedResult {
  @Always updated!: true;
}

/** The response to a delete that archives. */
export class ArchivedResult {
  @Always archived!: true;
}

/** The response to a restore. */
export class RestoredResult {
  @Always restored!: true;
}

/** The response to a delete. */
export class DeletedResult {
  @Always deleted!: true;
}
