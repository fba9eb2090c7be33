import { Module } from '@nestjs/common';
import { CrudModule } from '../../src/common/crud/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { Category } from '../categories/index.js';
import { Product, ProductInput } from './product.js';

const products = CrudModule.forFeature({
  entity: Product,
  input: ProductInput,
  name: 'products',
  tag: 'Products',
  isolationFields: { all: { tenant: currentTenant } },
  query: {
    filter: [
      'name',
      'price',
      'colour',
      'category',
      'category.name',
      'dimensions.width',
      'variants.sku',
      'variants.stock',
    ],
    sort: ['name', 'price', ['colour', '-price']],
  },
  references: { category: { to: Category, check: 'sameScope', onDelete: 'restrict' } },
});

@Module({ imports: [products], exports: [products] })
export class ProductsModule {}
