import type { DynamicModule, Type } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule, type CrudOptions } from '../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';

/** The decorators of fields, by their names. */
export type Fields = Readonly<Record<string, PropertyDecorator | readonly PropertyDecorator[]>>;

/** A record of a resource that a test makes up. */
export type Made = Record<string, unknown>;

/** Options of a resource whose classes are made from the decorators of their fields. */
export interface Outline extends Partial<
  Omit<CrudOptions<Made, Made>, 'entity' | 'fields' | 'input' | 'name'>
> {
  name: string;
  /** Name of the entity class. @default the singular of `name` */
  class?: string;
  /** What clients send, or a class of it. @default a short text */
  fields?: Fields | Type<object>;
  /** Further fields of the record, which clients do not send. @default none */
  kept?: Fields;
  /** The option `fields`. @default none */
  rules?: CrudOptions<Made, Made>['fields'];
}

/** What a resource of one tenant has in its outline. */
export const OF_TENANT = {
  kept: { tenant: IsIdentifier() },
  isolationFields: { all: { tenant: currentTenant } },
} satisfies Partial<Outline>;

/** The options of a resource, with an input and an entity class of its own. */
export function resource({
  name,
  class: className = singular(name),
  fields = { text: IsText({ max: 80 }) },
  kept = {},
  rules,
  ...options
}: Outline): CrudOptions<Made, Made> {
  const input = typeof fields === 'function' ? fields : withFields(class Input {}, fields);
  Object.defineProperty(input, 'name', { value: `${className}Input` });
  const entity = withFields(class Entity extends input {}, kept);
  Object.defineProperty(entity, 'name', { value: className });
  Schema({ timestamps: true })(entity);
  return {
    ...options,
    ...(rules && { fields: rules }),
    name,
    entity: entity as Type<Made>,
    input: input as Type<Made>,
  };
}

/** The options of a resource below another one, which its field of that name refers to. */
export function below(parent: CrudOptions<Made, Made>, outline: Outline): CrudOptions<Made, Made> {
  const field = singular(parent.name).toLowerCase();
  return resource({
    path: `${parent.path ?? parent.name}/:${field}Id/${outline.name}`,
    parent: { entity: parent.entity, param: `${field}Id`, field },
    ...outline,
    kept: { ...outline.kept, [field]: IsReference(() => parent.entity) },
  });
}

export const feature = (outline: Outline): DynamicModule => CrudModule.forFeature(resource(outline));

/** A class with the decorators of such fields. */
export function withFields(type: Type<object>, fields: Fields): Type<object> {
  for (const [name, decorators] of Object.entries(fields)) {
    for (const decorate of [decorators].flat()) decorate(type.prototype as object, name);
  }
  return type;
}

function singular(name: string): string {
  const word = name.replace(/ies$/, 'y').replace(/s$/, '');
  return word.charAt(0).toUpperCase() + word.slice(1);
}
