import type { Type } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule, IsListOf, IsNested, IsReference } from '../../../src/index.js';
import { resource, type Outline } from '../../support/resource.js';
import { createResourceApp } from '../../support/resource-app.js';

const shops = resource({ name: 'shops' });
const categories = resource({ name: 'categories' });
const [Shop, Category] = [shops.entity, categories.entity];
@Schema({ timestamps: true })
class Subcategory extends Category {}
const subcategories: typeof categories = { ...categories, entity: Subcategory, name: 'subcategories' };

const one = IsReference(() => Category);
class Place {
  @one one!: string;
}
const products = (relations: Partial<Outline>) =>
  resource({
    name: 'products',
    fields: { one, many: IsListOf(one, { max: 3 }), inner: IsNested(() => Place) },
    kept: { parent: one },
    ...relations,
  });
const referring = (path: string, to: Type<object>) =>
  products({ isolationFields: { create: { parent: () => 'x' } }, references: { [path]: { to } } });
const below = (entity: Type<object>) =>
  products({ path: 'above/:aboveId/products', parent: { entity, param: 'aboveId', field: 'parent' } });

const started = async (options: typeof shops) => {
  const all = [shops, categories, subcategories, options];
  await (await createResourceApp(...all.map((each) => CrudModule.forFeature(each)))).close();
};
const unlike = (option: string, field: string) =>
  new Error(
    `CrudModule.forFeature(Product): ${option} names Shop, but @IsReference() of Product.${field} names Category. Name one class in both.`,
  );

describe('the class that @IsReference() names', () => {
  it.each(['one', 'many', 'inner.one'])('is that of the reference %s, or the start stops', async (path) => {
    await expect(started(referring(path, Shop))).rejects.toThrow(unlike(`references.${path}.to`, path));
    await started(referring(path, Category));
  });

  it('may be extended by that of the reference', async () => {
    await started(referring('one', Subcategory));
  });

  it('is that of the parent, or the start stops', async () => {
    await expect(started(below(Shop))).rejects.toThrow(unlike('parent.entity', 'parent'));
    await started(below(Category));
  });
});
