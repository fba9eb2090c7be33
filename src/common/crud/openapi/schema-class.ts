import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { type JsonSchema, jsonSchemaOf } from '../../fields/index.js';
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
    // The list `required` of an object is about its members.
    const keyword = schema.required ? 'selfRequired' : 'required';
    const options = { ...withType(schema), [keyword]: required.includes(field) };
    ApiProperty(options as ApiPropertyOptions)(Documented.prototype as object, field);
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/**
 * Nest takes a property without a type for one of a class that is not loaded yet. It removes the type of one that
 * can be of several.
 */
function withType(schema: JsonSchema): object {
  if ('type' in schema || 'enum' in schema) return schema;
  const isChoice = ['oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in schema);
  return { ...(!isChoice && { anyOf: [{}] }), ...schema, type: 'object' };
}

/** A class with every field that its decorators describe, not only those with `@ApiProperty()`. */
export function documentedClass(type: Type<object>): Type<object> {
  return schemaClass(type.name, jsonSchemaOf(type), type);
}

/** The classes that stand for one of several, by the value of their member `kind`. */
const unions = new WeakMap<Type<unknown>, Readonly<Record<string, Type<unknown>>>>();

/** Has references to a class name those of its kinds, if it has any. */
export function asUnion(
  type: Type<object>,
  kinds: readonly (readonly [kind: string, type: Type<object>])[],
): Type<object> {
  if (kinds.length > 0) unions.set(type, Object.fromEntries(kinds));
  return type;
}

/** A class, or those of its kinds. */
export function modelsOf(type: Type<unknown>): readonly Type<unknown>[] {
  return Object.values(unions.get(type) ?? { type });
}

/** Reference to the schema of a class, or to one of its kinds. */
export function refTo(type: Type<unknown>): JsonSchema & { $ref?: string } {
  const kinds = unions.get(type);
  if (!kinds) return { $ref: getSchemaPath(type) };
  const mapping = Object.fromEntries(
    Object.entries(kinds).map(([kind, one]) => [kind, getSchemaPath(one)] as const),
  );
  return { oneOf: Object.values(kinds).map(refTo), discriminator: { propertyName: KIND, mapping } };
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
