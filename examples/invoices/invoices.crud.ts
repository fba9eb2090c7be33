import { crudOptions } from '../../src/common/crud/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { Order } from '../orders/index.js';
import { Invoice, InvoiceInput } from './invoice.js';

export const invoices = crudOptions({
  entity: Invoice,
  input: InvoiceInput,
  name: 'invoices',
  tag: 'Invoices',
  disable: ['create', 'update', 'del'],
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['order', 'amount', 'address.city', 'createdAt'], sort: ['-amount'] },
  references: { order: { to: Order, check: 'sameScope' } },
});
