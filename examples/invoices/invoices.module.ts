import { Module } from '@nestjs/common';
import { CrudModule } from '../../src/common/crud/index.js';
import { InvoicesController } from './invoices.controller.js';
import { invoices } from './invoices.crud.js';
import { InvoicesService } from './invoices.service.js';
import { PaidOrdersListener } from './paid-orders.listener.js';

@Module({
  imports: [
    CrudModule.forFeature(invoices, {
      controller: InvoicesController,
      service: InvoicesService,
      providers: [PaidOrdersListener],
    }),
  ],
})
export class InvoicesModule {}
