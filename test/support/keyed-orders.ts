import { Body, ConflictException, Injectable, Param } from '@nestjs/common';
import { InjectConnection, Prop } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import type { Connection } from 'mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  InjectCrudService,
} from '../../src/common/crud/index.js';
import { CRUD_CONNECTION } from '../../src/common/database/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { type Made, OF_TENANT, resource } from './resource.js';

const lines = resource({ name: 'lines', bulk: true, import: true });

class OrderInput {
  @IsText({ max: 80 }) text!: string;
  @Prop({ type: String, unique: true, sparse: true }) @IsText({ max: 20, optional: true }) code?: string;
}

class OrderSecret {
  @ApiProperty() _id!: string;
  @ApiProperty({ required: false }) secret?: string;
}

/** What the hooks of orders were called for, and what they wait for. */
export const watched = {
  calls: [] as string[],
  gate: Promise.resolve(),
  failure: undefined as (() => Error) | undefined,

  reset: () => void Object.assign(watched, { calls: [], gate: Promise.resolve(), failure: undefined }),

  /** Lets the hooks wait until what it gives back is called. */
  closeGate() {
    let open = (): void => undefined;
    watched.gate = new Promise((resolve) => (open = resolve));
    return () => open();
  },
};

const orders = resource({
  name: 'orders',
  fields: OrderInput,
  ...OF_TENANT,
  hooks: {
    async beforeCreate({ record }) {
      watched.calls.push(`before ${String(record.text)}`);
      await watched.gate;
      if (watched.failure) throw watched.failure();
    },
    afterCreate: ({ record }) => void watched.calls.push(`after ${String(record.text)}`),
  },
  routes: { create: { errors: [409, 418] } },
  bulk: true,
});

@Injectable()
export class OrdersService extends CrudService.for(orders) {
  @InjectCrudService(lines.entity) readonly lines!: CrudService<Made, Made>;
  @InjectConnection(CRUD_CONNECTION) readonly connection!: Connection;

  /** Each order begins with two lines; no two orders have one text. */
  override async create(scope: TenantScope, input: Made) {
    const name = String(input.text);
    for await (const { text } of this.list(scope)) {
      if (text === name) throw new ConflictException('There is such an order.');
    }
    await this.lines.create(scope, { text: `${name}, first` });
    const order = await super.create(scope, input);
    await this.lines.create(scope, { text: `${name}, second` });
    return order;
  }
}

class OrdersController extends CrudController(orders, OrdersService) {
  @CrudAction(orders, {
    method: 'POST',
    path: 'secret',
    body: OrderInput,
    isolatedAs: 'create',
    response: OrderSecret,
    unstored: ['secret'],
  })
  async withSecret(@CurrentScope() scope: TenantScope, @Body() body: OrderInput) {
    const { _id } = await this.service.create(scope, { ...body });
    return { _id, secret: `secret of ${body.text}` };
  }

  @CrudAction(orders, { method: 'POST', path: ':id/mark', isolatedAs: 'update', status: 200 })
  mark(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, { code: 'marked' });
  }
}

/** Orders with code of their own, and the lines that they write. */
export const keyedOrders = CrudModule.forFeature(orders, {
  controller: OrdersController,
  service: OrdersService,
  imports: [CrudModule.forFeature(lines)],
});
