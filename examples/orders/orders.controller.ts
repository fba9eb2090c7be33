import { Body, Param } from '@nestjs/common';
import { CrudAction, CrudController } from '../../src/common/crud/index.js';
import { IsOneOf } from '../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { OrderStatus } from './order.js';
import { orders } from './orders.crud.js';
import { OrdersService } from './orders.service.js';

export class OrderMove {
  @IsOneOf(OrderStatus, { example: OrderStatus.Paid })
  status!: OrderStatus;
}

export class OrdersController extends CrudController(orders, OrdersService) {
  @CrudAction(orders, {
    method: 'POST',
    path: ':id/status',
    body: OrderMove,
    isolatedAs: 'update',
    status: 200,
    summary: 'Move an order to its next status',
    errors: ['RECORD_NOT_FOUND', 409],
  })
  move(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() { status }: OrderMove) {
    return this.service.move(scope, id, status);
  }
}
