import { crudOptions } from '../../src/common/crud/index.js';
import { schemaOf } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { Category, CategoryInput, CategoryName } from './category.js';

export const categories = crudOptions({
  entity: Category,
  input: { create: CategoryInput, update: CategoryName },
  name: 'categories',
  tag: 'Categories',
  schema: schemaOf(Category).index({ tenant: 1, slug: 1 }, { unique: true }),
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['name', 'slug', 'parent'], sort: ['name'] },
  references: { parent: { to: Category, check: 'sameScope', onDelete: 'restrict' } },
});
