import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Webhook } from 'standardwebhooks';
import { NotificationsModule } from '../../src/common/notifications/index.js';
import { createCrudApp, CrudModule } from '../../src/index.js';
import { EventClient } from '../support/event-client.js';
import { eventually } from '../support/eventually.js';
import { useDatabase } from '../support/mongodb.js';
import { Receiver } from '../support/receiver.js';
import { feature, OF_TENANT } from '../support/resource.js';
import { sendTo } from '../support/send-to.js';
import { acme, globex, TEST_SECRET } from '../support/tenants.js';

const { uri } = useDatabase();

@Module({
  imports: [
    CrudModule.forRoot({ database: { uri }, tokens: { secret: TEST_SECRET } }),
    feature({ name: 'orders', ...OF_TENANT, events: true }),
    NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
  ],
})
class ShopModule {}

const APPLICATIONS: Readonly<Record<string, () => Promise<INestApplication>>> = {
  Express: () => NestFactory.create(ShopModule, { logger: false }),
  Fastify: () => NestFactory.create(ShopModule, new FastifyAdapter(), { logger: false }),
  createCrudApp: () => createCrudApp(ShopModule, { logLevel: 'silent' }),
};

const receiver = Receiver.forEach();

it.each(Object.entries(APPLICATIONS))(
  'notifications work on %s',
  async (_name, make) => {
    const app = await make();
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const send = async (method: string, path: string, body?: object) =>
      (await sendTo(url, method, path, { body, token: acme })).body as Record<string, string>;
    try {
      const events = ['orders.*', 'orders.deleted'];
      const { secret = '' } = await send('POST', '/subscriptions', { url: receiver.url, events });
      const all = await EventClient.open(url, { token: acme });
      const deleted = await EventClient.open(url, { token: acme, query: '?types=orders.deleted' });
      const others = await EventClient.open(url, { token: globex });
      const unknown = await send('GET', '/events?types=orders.archived');
      expect(unknown).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
      const { _id = '' } = await send('POST', '/orders', { text: 'Tea' });
      for (const _ of ['changes it', 'changes nothing'])
        await send('PATCH', `/orders/${_id}`, { text: 'Coffee' });
      const data = await send('GET', `/orders/${_id}`);
      await send('DELETE', `/orders/${_id}`);
      const types = ['orders.created', 'orders.updated', 'orders.deleted'];
      await eventually(() => expect(all.events.map(({ type }) => type)).toEqual(types), 20_000);
      expect(deleted.events.map(({ type }) => type)).toEqual(['orders.deleted']);
      const told = JSON.parse(deleted.events[0]?.data ?? '{}') as object;
      expect(told).toMatchObject({ type: 'orders.deleted', data });
      expect(others.events).toEqual([]);
      await eventually(() => expect(receiver.received).toHaveLength(3), 20_000);
      const verify = new Webhook(secret);
      expect(receiver.received.map(({ body, headers }) => verify.verify(body, headers))).toContainEqual(told);
    } finally {
      // Ends the streams, too.
      await app.close();
    }
  },
  120_000,
);
