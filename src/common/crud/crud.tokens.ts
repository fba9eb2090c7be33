import { Inject, type Type } from '@nestjs/common';

/** One token per class, even if two classes share a name. A string, so that Nest can name it in its errors. */
function tokensOf(kind: string): (entity: Type<object>) => string {
  const tokens = new WeakMap<Type<object>, string>();
  const counts = new Map<string, number>();
  return (entity) => {
    const known = tokens.get(entity);
    if (known !== undefined) return known;
    const count = (counts.get(entity.name) ?? 0) + 1;
    counts.set(entity.name, count);
    const token = `${entity.name}${kind}${count > 1 ? count : ''}`;
    tokens.set(entity, token);
    return token;
  };
}

/** Injection token of a resource's service: the generated one, or your own in its place. */
export const getCrudServiceToken = tokensOf('CrudService');

/** Injection token of the resource at run time, which its service works with. */
export const getCrudResourceToken = tokensOf('CrudResource');

/** Injects the service of an entity: `@InjectCrudService(Product) private readonly products: CrudService<Product, ProductInput>`. */
export const InjectCrudService = (entity: Type<object>): ParameterDecorator & PropertyDecorator =>
  Inject(getCrudServiceToken(entity));
