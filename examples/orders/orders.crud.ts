import { crudOptions } from '../../src/common/crud/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { Product } from '../products/index.js';
import { Order, OrderInput } from './order.js';
import { OrderHooks } from './order.hooks.js';

export const orders = crudOptions({
  entity: Order,
  input: OrderInput,
  name: 'orders',
  tag: 'Orders',
  disable: ['del'],
  events: true,
  isolationFields: { all: { tenant: currentTenant } },
  list: { unpaged: false, maxLimit: 200 },
  query: {
    filter: ['status', 'total', 'lines.product', 'createdAt'],
    sort: ['-total', ['status', '-createdAt']],
  },
  references: { 'lines.product': { to: Product, check: 'sameScope', onDelete: 'restrict' } },
  hooks: OrderHooks,
  routes: { update: { errors: [409] } },
});
