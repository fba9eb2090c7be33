import { Inject, type Type } from '@nestjs/common';

/** A token per class: two classes of one name have two. */
function tokensOf(kind: string): (entity: Type<object>) => symbol {
  const tokens = new WeakMap<Type<object>, symbol>();
  return (entity) => {
    const token = tokens.get(entity) ?? Symbol(`${entity.name}${kind}`);
    tokens.set(entity, token);
    return token;
  };
}

/** Injection token of a resource's service: the generated one, or the feature's own in its place. */
export const getCrudServiceToken = tokensOf('CrudService');

/** Injection token of the running resource, which its service works with. */
export const getCrudResourceToken = tokensOf('CrudResource');

/** Injects the service of an entity: `@InjectCrudService(Product) private readonly products: CrudService<Product, ProductInput>`. */
export const InjectCrudService = (entity: Type<object>): ParameterDecorator & PropertyDecorator =>
  Inject(getCrudServiceToken(entity));
