import { Inject, type Type } from '@nestjs/common';

const made = new WeakSet<symbol>();

/** One token per class, even if two classes share a name. */
function tokensOf(kind: string): (entity: Type<object>) => symbol {
  const tokens = new WeakMap<Type<object>, symbol>();
  return (entity) => {
    const token = tokens.get(entity) ?? Symbol(`${entity.name}${kind}`);
    tokens.set(entity, token);
    made.add(token);
    return token;
  };
}

/** Injection token of a resource's service: the generated one, or your own in its place. */
export const getCrudServiceToken = tokensOf('CrudService');

/** Injection token of the resource at run time, which its service works with. */
export const getCrudResourceToken = tokensOf('CrudResource');

/** Whether a token is one of these. */
export function isCrudToken(token: unknown): boolean {
  return typeof token === 'symbol' && made.has(token);
}

/** Injects the service of an entity: `@InjectCrudService(Product) private readonly products: CrudService<Product, ProductInput>`. */
export const InjectCrudService = (entity: Type<object>): ParameterDecorator & PropertyDecorator =>
  Inject(getCrudServiceToken(entity));
