import { Body, Param } from '@nestjs/common';
import { CrudAction, CrudController } from '../../src/common/crud/index.js';
import { CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { Address } from './invoice.js';
import { invoices } from './invoices.crud.js';
import { InvoicesService } from './invoices.service.js';

export class InvoicesController extends CrudController(invoices, InvoicesService) {
  @CrudAction(invoices, {
    method: 'PUT',
    path: ':id/address',
    body: Address,
    isolatedAs: 'update',
    summary: 'Replace the address of an invoice',
  })
  readdress(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() address: Address) {
    return this.service.readdress(scope, id, address);
  }
}
