import { Injectable } from '@nestjs/common';
import { CrudService } from '../../src/common/crud/index.js';
import type { TenantScope } from '../../src/common/tenancy/index.js';
import type { Address } from './invoice.js';
import { invoices } from './invoices.crud.js';

@Injectable()
export class InvoicesService extends CrudService.for(invoices) {
  /** Replaces the address as a whole. */
  async readdress(scope: TenantScope, id: string, address: Address) {
    return this.update(scope, id, { address });
  }
}
