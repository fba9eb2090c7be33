import type { Type } from '@nestjs/common';
import { DefinitionsFactory, VirtualsFactory } from '@nestjs/mongoose';
import { Schema, type SchemaDefinition, type SchemaDefinitionProperty, Types } from 'mongoose';
import type { FieldDescription } from './field-rule.js';
import { sourcesOf } from './fields.js';
import { designTypeOf, lineageOf, propsOf, schemaOptionsOf } from './metadata.js';

/** Schemas in the making, by class: a class that contains itself refers to its own schema. */
type SchemasInWork = ReadonlyMap<Type<object>, Schema>;

/** Mongoose's definition of a field that one of the field decorators here declared; undefined for others. */
function storeOf(field: FieldDescription, inWork: SchemasInWork): SchemaDefinitionProperty | undefined {
  const { declaration, required, list, nested } = field;
  if (!declaration) return undefined;
  const { storeType, storeRequired = true } = declaration.rule;
  const entry = nested ? subschemaOf(nested, inWork) : storeType;
  const value = declaration.options.default;
  return {
    type: list ? [entry] : entry,
    ...(required && storeRequired && { required: true }),
    // Without an explicit default, Mongoose would give every record an empty list.
    ...((list || value !== undefined) && { default: value }),
  } as SchemaDefinitionProperty;
}

/** Mongoose's definition of a class: its field decorators and its `@Prop()`s, merged for fields that have both. */
export function definitionOf(target: Type<object>, inWork: SchemasInWork = new Map()): SchemaDefinition {
  const props = propsOf(target);
  for (const options of props.values()) nameStoreTypes(options);
  const own = DefinitionsFactory.createForClass(target) as Record<string, unknown>;
  const fields = new Map(sourcesOf(target).map((field) => [field.name, field]));
  const definition: Record<string, unknown> = {};
  for (const name of namesOf(target)) {
    const field = fields.get(name);
    const prop = props.has(name) ? (own[name] ?? props.get(name)) : undefined;
    if (field?.declaration) {
      definition[name] = prop ? merged(target, field, prop, inWork) : storeOf(field, inWork);
    } else if (prop) {
      const nested = field?.nested;
      const isOurs = nested && sourcesOf(nested).some(({ declaration }) => declaration);
      definition[name] = isOurs ? withNested(prop, nested, field.list, inWork) : prop;
    }
  }
  return definition as SchemaDefinition;
}

/** BSON classes that authors may write for the types of the store. */
const STORE_TYPES = new Map<unknown, unknown>([
  [Types.ObjectId, Schema.Types.ObjectId],
  [Types.Decimal128, Schema.Types.Decimal128],
]);

/** @nestjs/mongoose treats `Types.ObjectId` as a nested class without fields, and would store anything there. */
function nameStoreTypes(options: unknown): void {
  if (typeof options !== 'object' || options === null || !('type' in options)) return;
  const { type } = options;
  if (Array.isArray(type)) options.type = type.map((entry: unknown) => STORE_TYPES.get(entry) ?? entry);
  else options.type = STORE_TYPES.get(type) ?? type;
}

function namesOf(target: Type<object>): Set<string> {
  const names = lineageOf(target).flatMap((owner) => [
    ...sourcesOf(owner).map(({ name }) => name),
    ...propsOf(owner).keys(),
  ]);
  return new Set(names);
}

/** Explicit options of `@Prop()` win. A type that it inferred from TypeScript is less specific than the decorator. */
function merged(
  target: Type<object>,
  field: FieldDescription,
  prop: unknown,
  inWork: SchemasInWork,
): unknown {
  if (typeof prop !== 'object' || prop === null || Array.isArray(prop) || !('type' in prop)) return prop;
  const { type, ...options } = prop;
  const store = storeOf(field, inWork) as object | undefined;
  return { ...store, ...options, ...(!isInferred(target, field, type) && { type }) };
}

function isInferred(target: Type<object>, { name, nested }: FieldDescription, type: unknown): boolean {
  // @nestjs/mongoose replaces the class of a nested object with a definition, or with a schema if it has
  // @Schema().
  if (nested) return !(type instanceof Schema) || schemaOptionsOf(nested) !== undefined;
  return type === designTypeOf(target, name) || (Array.isArray(type) && type.length === 0);
}

function withNested(prop: unknown, nested: Type<object>, list: boolean, inWork: SchemasInWork): unknown {
  const schema = subschemaOf(nested, inWork);
  const options = typeof prop === 'object' && prop !== null && 'type' in prop ? prop : {};
  return { ...options, type: list ? [schema] : schema };
}

/** Schema of a nested class, without `_id` unless its `@Schema()` asks for one. */
function subschemaOf(target: Type<object>, inWork: SchemasInWork): Schema {
  const begun = inWork.get(target);
  if (begun) return begun;
  const schema = new Schema({}, { _id: false, ...schemaOptionsOf(target) });
  return schema.add(definitionOf(target, new Map([...inWork, [target, schema]])));
}

/**
 * A new Mongoose schema of an entity, from its `@Prop()`s, whose options win, and its field decorators. Nested classes
 * become subschemas without `_id`.
 */
export function schemaOf(entity: Type<object>): Schema {
  const schema = new Schema(definitionOf(entity), schemaOptionsOf(entity));
  VirtualsFactory.inspect(entity, schema);
  return schema;
}
