import { Injectable } from '@nestjs/common';
import type { Presented } from '../../src/common/crud/index.js';
import { type EntityEvent, OnEntityEvent } from '../../src/common/events/index.js';
import { scopeOf } from '../../src/common/tenancy/index.js';
import { type Order, OrderStatus } from '../orders/index.js';
import { InvoicesService } from './invoices.service.js';

/** Creates the invoice of an order when it is paid. */
@Injectable()
export class PaidOrdersListener {
  constructor(private readonly invoices: InvoicesService) {}

  @OnEntityEvent('orders', 'afterUpdate')
  async orderChanged({ record, changed }: EntityEvent<Presented<Order>>) {
    if (!changed.includes('status') || record.status !== OrderStatus.Paid) return;
    const { _id: order, total: amount, tenant } = record;
    await this.invoices.create(scopeOf({ tenant }), { order, amount });
  }
}
