import type { Type } from '@nestjs/common';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';

/** Keys under which @nestjs/swagger stores the options of `@ApiProperty()`; it does not export them. */
const API_OPTIONS = 'swagger/apiModelProperties';
const API_NAMES = 'swagger/apiModelPropertiesArray';

/** Options of `@Prop()`, as far as fields read them. */
type PropOptions = Record<string, unknown> | unknown[] | (() => unknown);

interface MongooseStorage {
  readonly properties: readonly { target: Type<object>; propertyKey: string; options: PropOptions }[];
  getSchemaMetadataByTarget(target: Type<object>): { options?: object } | undefined;
}

/** Validation metadata of a class and its bases, as class-validator itself reads it. */
export function validationsOf(target: Type<object>): ValidationMetadata[] {
  return getMetadataStorage().getTargetValidationMetadatas(target, '', false, false);
}

/** Whether metadata makes a field optional: `@IsOptional()`, `@ValidateIf()`. */
export function isConditional({ type }: ValidationMetadata): boolean {
  return type === 'conditionalValidation';
}

/** What is made of each class, when it is first asked for. */
export function oncePerClass<Made>(make: (type: Type<object>) => Made): (type: Type<object>) => Made {
  const known = new WeakMap<Type<object>, Made>();
  return (type) => {
    const made = known.get(type) ?? make(type);
    known.set(type, made);
    return made;
  };
}

/** A class and its bases, the base first. */
export function lineageOf(target: Type<object>): Type<object>[] {
  const base = Object.getPrototypeOf(target) as Type<object> | null;
  return base && base !== Function.prototype ? [...lineageOf(base), target] : [target];
}

/** Options of `@ApiProperty()` on a field. */
export function apiOptionsOf(target: Type<object>, name: string): Record<string, unknown> {
  return (Reflect.getMetadata(API_OPTIONS, target.prototype as object, name) ?? {}) as Record<
    string,
    unknown
  >;
}

/** Names of the fields that have `@ApiProperty()`. */
export function apiNamesOf(target: Type<object>): string[] {
  const names = (Reflect.getMetadata(API_NAMES, target.prototype as object) ?? []) as string[];
  return names.map((name) => name.slice(1));
}

/** The type that TypeScript declares for a field; Object if a single class cannot express it. */
export function designTypeOf(target: Type<object>, name: string): unknown {
  return Reflect.getMetadata('design:type', target.prototype as object, name);
}

/** Options of `@Prop()` by field, in order of declaration, base classes first. */
export function propsOf(target: Type<object>): Map<string, PropOptions> {
  const all = [...(mongooseStorage()?.properties ?? [])].reverse();
  const props = lineageOf(target).flatMap((owner) => all.filter((prop) => prop.target === owner));
  return new Map(props.map(({ propertyKey, options }) => [propertyKey, options]));
}

/** Options of `@Schema()` on a class; undefined if it is not decorated. */
export function schemaOptionsOf(target: Type<object>): object | undefined {
  const metadata = mongooseStorage()?.getSchemaMetadataByTarget(target);
  return metadata && (metadata.options ?? {});
}

/** The class that `@Type()` names for a field. */
export function transformTypeOf(target: Type<object>, name: string): unknown {
  try {
    const { typeFunction } = defaultMetadataStorage.findTypeMetadata(target, name);
    return typeFunction({ newObject: {}, object: {}, property: name });
  } catch {
    // There is no `@Type()`, or its function depends on the object.
    return undefined;
  }
}

/** Whether a value is a class of the program, not a function, nor a class built into JavaScript. */
export function isClass(value: unknown): value is Type<object> {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

function mongooseStorage(): MongooseStorage | undefined {
  // @nestjs/mongoose shares its storage under this name but does not export it.
  return (globalThis as { MongoTypeMetadataStorage?: MongooseStorage }).MongoTypeMetadataStorage;
}
