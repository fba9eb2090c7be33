import { Module } from '@nestjs/common';
import { CrudModule } from '../../src/common/crud/index.js';
import { ProductsModule } from '../products/index.js';
import { OrdersController } from './orders.controller.js';
import { orders } from './orders.crud.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [
    CrudModule.forFeature(orders, {
      controller: OrdersController,
      service: OrdersService,
      imports: [ProductsModule],
    }),
  ],
})
export class OrdersModule {}
