import type { Type } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsReference, IsText } from '../../../src/common/fields/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { resource } from '../../support/resource.js';

const named = (name: string, className: string) =>
  resource({ name, class: className, fields: { name: IsText({ max: 80 }) } });
const shops = named('shops', 'Shop');
const categories = named('categories', 'Category');
@Schema({ timestamps: true })
class Subcategory extends categories.entity {}
const subcategories: typeof categories = { ...categories, entity: Subcategory, name: 'subcategories' };
const [Shop, Category] = [shops.entity, categories.entity];

class Place {
  @IsReference(() => Category) one!: string;
}

class ProductInput extends Place {
  @IsListOf(IsReference(() => Category), { max: 3 }) many!: string[];
  @IsNested(() => Place) inner!: Place;
}

@Schema({ timestamps: true })
class Product extends ProductInput {
  @IsReference(() => Category) parent!: string;
}

const referring = (path: string, to: Type<object>) =>
  crudOptions({
    entity: Product,
    input: ProductInput,
    name: 'products',
    isolationFields: { create: { parent: () => 'x' } },
    references: { [path]: { to } } as Record<string, { to: Type<object> }>,
  });
const below = (entity: Type<object>) =>
  crudOptions({
    entity: Product,
    input: ProductInput,
    name: 'products',
    path: 'above/:aboveId/products',
    parent: { entity, param: 'aboveId', field: 'parent' },
  });

const started = async (products: ReturnType<typeof referring>) => {
  const options = [shops, categories, subcategories, products];
  const app = await createResourceApp(...options.map((each) => CrudModule.forFeature(each as typeof shops)));
  await app.close();
};

describe('the class that @IsReference() names', () => {
  it.each(['one', 'many', 'inner.one'])('is that of the reference %s, or the start stops', async (path) => {
    await expect(started(referring(path, Shop))).rejects.toThrow(
      new Error(
        `CrudModule.forFeature(Product): references.${path}.to names Shop, but @IsReference() of Product.${path} names Category. Name one class in both.`,
      ),
    );
    await started(referring(path, Category));
  });

  it('may be extended by that of the reference', async () => {
    await started(referring('one', Subcategory));
  });

  it('is that of the parent, or the start stops', async () => {
    await expect(started(below(Shop))).rejects.toThrow(
      new Error(
        'CrudModule.forFeature(Product): parent.entity names Shop, but @IsReference() of Product.parent names Category. Name one class in both.',
      ),
    );
    await started(below(Category));
  });
});
