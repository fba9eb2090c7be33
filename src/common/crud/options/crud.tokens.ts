import { Inject, type Type } from '@nestjs/common';

/** Injection token of a resource's service: the generated one, or your own in its place. */
export const getCrudServiceToken = (entity: Type<object>) => `${entity.name}CrudService`;

/** Injection token of the resource at run time, which its service works with. */
export const getCrudResourceToken = (entity: Type<object>) => `${entity.name}CrudResource`;

/** Injects the service of an entity: `@InjectCrudService(Product) private readonly products: CrudService<Product, ProductInput>`. */
export const InjectCrudService = (entity: Type<object>): ParameterDecorator & PropertyDecorator =>
  Inject(getCrudServiceToken(entity));
