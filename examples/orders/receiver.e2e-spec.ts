import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NotificationsModule } from '../../src/common/notifications/index.js';
import { eventually } from '../../test/support/eventually.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { acme, globex } from '../../test/support/tenants.js';
import { CategoriesModule } from '../categories/index.js';
import { ProductsModule } from '../products/index.js';
import { OrdersModule } from './index.js';
import { createReceiver, type OrderEvent } from './receiver.js';

describe('a receiver of orders', () => {
  const app = useResourceApp(
    OrdersModule,
    ProductsModule,
    CategoriesModule,
    NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
  );
  const received: OrderEvent[] = [];
  let secret = '';
  let receiver: Server;
  let url: string;
  beforeAll(async () => {
    receiver = createReceiver(
      () => secret,
      (event) => received.push(event),
    ).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  });
  afterAll(() => void receiver.close());

  it('believes what the service has signed, and nothing else', async () => {
    const subscribed = await app.post('/subscriptions', { url, events: ['orders.*'] }, { token: acme });
    secret = subscribed.body.secret as string;
    for (const token of [acme, globex]) {
      const product = (await app.post('/products', { name: 'Tea', price: '2.50', variants: [] }, { token }))
        .body._id;
      const order = (await app.post('/orders', { lines: [{ product, quantity: 2 }] }, { token })).body._id;
      await app.post(`/orders/${order}/status`, { status: 'paid' }, { token });
    }
    await eventually(() => expect(received).toHaveLength(2));
    const [created, updated] = received.toSorted((one, other) => (one.type < other.type ? -1 : 1));
    expect(created).toMatchObject({ type: 'orders.created', data: { total: '5.00', status: 'placed' } });
    expect(updated).toMatchObject({
      type: 'orders.updated',
      data: { _id: created?.data._id, status: 'paid' },
    });

    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1767225600',
      'webhook-signature': 'v1,AAAA',
    };
    const forged = await fetch(url, { method: 'POST', headers, body: JSON.stringify(created) });
    expect([forged.status, received.length]).toEqual([400, 2]);
  });
});
