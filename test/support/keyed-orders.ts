import { CRUD_CONNECTION } from '../../src/common/database/index.js';
import { Body, ConflictException, Injectable, Param } from '@nestjs/common';
import { InjectConnection, Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { type Connection, Types } from 'mongoose';
import {
  CrudAction,
  CrudController,
  crudOptions,
  CrudService,
  InjectCrudService,
  type Stored,
} from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

class LineInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Line extends LineInput {}

export const lines = crudOptions({ entity: Line, input: LineInput, name: 'lines', bulk: true, import: true });

class OrderInput {
  @IsText({ max: 80 }) text!: string;
  @Prop({ type: String, unique: true, sparse: true }) @IsText({ max: 20, optional: true }) code?: string;
}

@Schema({ timestamps: true })
class Order extends OrderInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
}

class OrderSecret {
  @ApiProperty() _id!: string;
  @ApiProperty({ required: false }) secret?: string;
}

/** What the hooks of orders were called for, and what they wait for. */
class Watched {
  readonly calls: string[] = [];
  gate: Promise<void> = Promise.resolve();
  failure?: () => Error;

  async beforeCreate({ record }: { record: { text?: string } }) {
    this.calls.push(`before ${record.text}`);
    await this.gate;
    if (this.failure) throw this.failure();
  }

  afterCreate({ record }: { record: { text?: string } }) {
    this.calls.push(`after ${record.text}`);
  }
}
export const watched = new Watched();

export const orders = crudOptions({
  entity: Order,
  input: OrderInput,
  name: 'orders',
  isolationFields: { all: { tenant: currentTenant } },
  hooks: {
    beforeCreate: (context) => watched.beforeCreate(context as never),
    afterCreate: (context) => watched.afterCreate(context as never),
  },
  routes: { create: { errors: [409, 418] } },
  bulk: true,
});

@Injectable()
export class OrdersService extends CrudService.for(orders) {
  @InjectCrudService(Line) readonly lines!: CrudService<Line, LineInput>;
  @InjectConnection(CRUD_CONNECTION) readonly connection!: Connection;

  /** Each order begins with two lines; no two orders have one text. */
  override async create(scope: TenantScope, input: OrderInput): Promise<Stored<Order>> {
    for await (const { text } of this.list(scope)) {
      if (text === input.text) throw new ConflictException('There is such an order.');
    }
    await this.lines.create(scope, { text: `${input.text}, first` });
    const order = await super.create(scope, input);
    await this.lines.create(scope, { text: `${input.text}, second` });
    return order;
  }
}

export class OrdersController extends CrudController(orders, OrdersService) {
  @CrudAction(orders, {
    method: 'POST',
    path: 'secret',
    body: OrderInput,
    isolatedAs: 'create',
    response: OrderSecret,
    unkept: ['secret'],
  })
  async withSecret(@CurrentScope() scope: TenantScope, @Body() body: OrderInput) {
    const { _id } = await this.service.create(scope, body);
    return { _id, secret: `secret of ${body.text}` };
  }

  @CrudAction(orders, { method: 'POST', path: ':id/mark', isolatedAs: 'update', status: 200 })
  mark(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, { code: 'marked' });
  }
}
