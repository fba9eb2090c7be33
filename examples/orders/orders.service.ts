import { ConflictException, Injectable } from '@nestjs/common';
import { CrudService } from '../../src/common/crud/index.js';
import type { TenantScope } from '../../src/common/tenancy/index.js';
import { OrderStatus } from './order.js';
import { orders } from './orders.crud.js';

/** The statuses that may follow each. */
const NEXT: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  [OrderStatus.Placed]: [OrderStatus.Paid, OrderStatus.Cancelled],
  [OrderStatus.Paid]: [OrderStatus.Shipped, OrderStatus.Cancelled],
  [OrderStatus.Shipped]: [],
  [OrderStatus.Cancelled]: [],
};

@Injectable()
export class OrdersService extends CrudService.for(orders) {
  /** @throws ConflictException if the status cannot follow the current one */
  async move(scope: TenantScope, id: string, status: OrderStatus) {
    const { status: from } = await this.get(scope, id);
    const moved =
      NEXT[from].includes(status) &&
      // Only if the status has not changed since it was read: one of two concurrent moves is rejected.
      (await this.change('update', scope, id, { set: { status } }, { where: { status: from } }));
    return moved || Promise.reject(new ConflictException(`An order that is ${from} cannot be ${status}.`));
  }
}
