import { ConflictException, Injectable } from '@nestjs/common';
import {
  type BeforeCreate,
  type BeforeUpdate,
  type CrudService,
  InjectCrudService,
} from '../../src/common/crud/index.js';
import type { TenantScope } from '../../src/common/tenancy/index.js';
import { Product, type ProductInput } from '../products/index.js';
import { type Order, type OrderInput, type OrderLine, OrderStatus } from './order.js';

/** Computes the total, and prevents changes to the lines of a paid order. */
@Injectable()
export class OrderHooks {
  constructor(@InjectCrudService(Product) private readonly products: CrudService<Product, ProductInput>) {}

  async beforeCreate({ scope, input, record }: BeforeCreate<Order, OrderInput>) {
    record.total = await this.totalOf(scope, input.lines);
  }

  async beforeUpdate({ scope, changes, record, previous }: BeforeUpdate<Order, OrderInput>) {
    if (!changes.lines) return;
    if (previous.status !== OrderStatus.Placed) {
      throw new ConflictException(`The lines of an order that is ${previous.status} cannot be changed.`);
    }
    record.total = await this.totalOf(scope, record.lines);
  }

  private async totalOf(scope: TenantScope, lines: readonly OrderLine[]): Promise<string> {
    const products = await Promise.all(lines.map(({ product }) => this.products.get(scope, product)));
    // In cents, since sums of fractions are not exact.
    const cents = products.map(({ price }, i) => Math.round(Number(price) * 100) * (lines[i]?.quantity ?? 0));
    return (cents.reduce((sum, amount) => sum + amount, 0) / 100).toFixed(2);
  }
}
