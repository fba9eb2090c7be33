import { Inject, type Type } from '@nestjs/common';

/** Injection token of a resource's service: the generated one, or the feature's own in its place. */
export function getCrudServiceToken(entity: Type<object>): string {
  return `${entity.name}CrudService`;
}

/** Injection token of what a resource's service works with. */
export function getCrudResourceToken(entity: Type<object>): string {
  return `${entity.name}CrudResource`;
}

/** Injects the resource of an entity into a service of the feature's own, to be handed to `super()`. */
export const InjectCrud = (entity: Type<object>): ParameterDecorator => Inject(getCrudResourceToken(entity));
