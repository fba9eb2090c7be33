export { Order, OrderStatus } from './order.js';
export { OrdersModule } from './orders.module.js';
