import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath, PartialType } from '@nestjs/swagger';
import { fieldsOf, type JsonSchema } from '../../fields/index.js';

const documented = new WeakMap<Type<object>, Map<string, Type<object>>>();

/**
 * A class that Nest's documentation describes completely: with every field that has a field decorator or class-validator
 * decorators, beside those with `@ApiProperty()`. The class itself stays as it is.
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
    ApiProperty({ ...schema, required } as ApiPropertyOptions)(Documented.prototype, field);
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/** A class that Nest's documentation describes by an object schema. */
export function schemaClass(name: string, { properties = {}, required = [] }: JsonSchema): Type<object> {
  class Documented {}
  for (const [field, schema] of Object.entries(properties)) {
    const options = { ...schema, required: required.includes(field) } as ApiPropertyOptions;
    ApiProperty(options)(Documented.prototype, field);
  }
  Object.defineProperty(Documented, 'name', { value: name });
  return Documented;
}

/** A class with further fields, each of which may be absent. */
export function withFields(
  type: Type<object>,
  name: string,
  fields: Readonly<Record<string, JsonSchema>>,
): Type<object> {
  class Extended extends (type as Type<object>) {}
  for (const [field, schema] of Object.entries(fields)) {
    ApiProperty({ ...schema, required: false } as ApiPropertyOptions)(Extended.prototype, field);
  }
  Object.defineProperty(Extended, 'name', { value: name });
  return Extended;
}

/** The class of what `fields` leaves of a record: any of its fields, and the identifier. */
export function partOf(record: Type<object>): Type<object> {
  class Part extends PartialType(record) {}
  ApiProperty({ required: true })(Part.prototype, '_id');
  Object.defineProperty(Part, 'name', { value: `${record.name}Part` });
  return Part;
}

/** The schema of a value that one of some classes describes. */
export function anyOf(classes: readonly Type<unknown>[]) {
  const references = classes.map((one) => ({ $ref: getSchemaPath(one) }));
  return references.length > 1 ? { anyOf: references } : (references[0] ?? {});
}
