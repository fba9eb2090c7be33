import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Prop, Schema } from '@nestjs/mongoose';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Types } from 'mongoose';
import { Webhook } from 'standardwebhooks';
import { NotificationsModule } from '../../src/common/notifications/index.js';
import { createCrudApp, CrudModule, currentTenant, IsText } from '../../src/index.js';
import { EventClient } from '../support/event-client.js';
import { eventually } from '../support/eventually.js';
import { Receiver } from '../support/receiver.js';
import { ACME, GLOBEX, TEST_SECRET, tokenOf } from '../support/tenants.js';

class OrderInput {
  @IsText({ min: 1, max: 100 })
  title!: string;
}

@Schema({ timestamps: true })
class Order extends OrderInput {
  @Prop({ type: Types.ObjectId, select: false })
  tenant!: Types.ObjectId;
}

@Module({
  imports: [
    CrudModule.forRoot({ database: { memory: true }, tokens: { secret: TEST_SECRET } }),
    CrudModule.forFeature({
      entity: Order,
      input: OrderInput,
      name: 'orders',
      isolationFields: { all: { tenant: currentTenant } },
      events: true,
    }),
    NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
  ],
})
class ShopModule {}

const APPLICATIONS: Readonly<Record<string, () => Promise<INestApplication>>> = {
  Express: () => NestFactory.create(ShopModule, { logger: false }),
  Fastify: () => NestFactory.create(ShopModule, new FastifyAdapter(), { logger: false }),
  createCrudApp: () => createCrudApp(ShopModule, { logLevel: 'silent' }),
};

it.each(Object.entries(APPLICATIONS))(
  'notifications work on %s',
  async (_name, make) => {
    const app = await make();
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const receiver = await Receiver.start();
    const [acme, globex] = await Promise.all([tokenOf(ACME), tokenOf(GLOBEX)]);
    const send = async (method: string, path: string, body?: object, token = acme) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const response = await fetch(url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      return (await response.json()) as Record<string, string>;
    };
    try {
      const events = ['orders.*', 'orders.deleted'];
      const { secret = '' } = await send('POST', '/subscriptions', { url: receiver.url, events });
      const all = await EventClient.open(url, { token: acme });
      const deleted = await EventClient.open(url, { token: acme, query: '?types=orders.deleted' });
      const others = await EventClient.open(url, { token: globex });
      const unknown = await send('GET', '/events?types=orders.archived');
      expect(unknown).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
      const { _id = '' } = await send('POST', '/orders', { title: 'Tea' });
      await send('PATCH', `/orders/${_id}`, { title: 'Coffee' });
      await send('PATCH', `/orders/${_id}`, { title: 'Coffee' });
      const last = await send('GET', `/orders/${_id}`);
      await send('DELETE', `/orders/${_id}`);
      const types = ['orders.created', 'orders.updated', 'orders.deleted'];
      await eventually(() => expect(all.events.map(({ type }) => type)).toEqual(types), 20_000);
      expect(deleted.events.map(({ type }) => type)).toEqual(['orders.deleted']);
      expect(JSON.parse(deleted.events[0]?.data ?? '{}')).toMatchObject({
        type: 'orders.deleted',
        data: last,
      });
      expect(others.events).toEqual([]);
      await eventually(() => expect(receiver.received).toHaveLength(3), 20_000);
      const verified = receiver.received.map(
        ({ body, headers }) => new Webhook(secret).verify(body, headers as Record<string, string>) as object,
      );
      expect(verified).toContainEqual(JSON.parse(deleted.events[0]?.data ?? '{}'));
    } finally {
      // Ends the streams, too.
      await app.close();
      await receiver.close();
    }
  },
  120_000,
);
