import type { IncomingMessage, ServerResponse } from 'node:http';
import { Types } from 'mongoose';
import { DeliveryQueue } from '../src/notifications/deliveries/delivery-queue.js';
import { DeliveryWorker } from '../src/notifications/worker/delivery-worker.js';
import { DeliveryWorkerModule } from '../src/notifications/worker/delivery-worker.module.js';
import { eventId, newDelivery } from './support/deliveries.js';
import { eventually } from './support/eventually.js';
import { Receiver } from './support/receiver.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

/** Long enough for hundreds of connections on a machine with other work. */
const WITHIN_MS = 30_000;

const SUBSCRIPTION = { secret: 'whsec_c2VjcmV0', events: ['posts.created'], enabled: true };

describe('the concurrent attempts of a worker', () => {
  let app: TestApp;
  let receiver: Receiver;
  /** Answers that the receiver still owes, the oldest first. */
  let owed: ServerResponse[];
  const hold = (response: ServerResponse, { url }: IncomingMessage): void => {
    if (url === '/new') response.writeHead(204).end();
    else owed.push(response);
  };

  beforeEach(async () => {
    app = await createResourceApp(DeliveryWorkerModule.forRoot({ allowPrivate: true, httpsOnly: false }));
    receiver = await Receiver.start();
    owed = [];
    receiver.answer = hold;
    for (const name of ['subscriptions', 'events']) await app.database.createCollection(name);
  });
  afterEach(async () => {
    receiver.answer = (response) => void response.writeHead(204).end();
    answer(owed.length, 204);
    await app.close();
    await receiver.close();
  });

  /** Stores subscriptions of tenants, and events of which each has a delivery. */
  async function announce(tenants: number, subscriptions: number, deliveries: number, path = '/slow') {
    const owners = Array.from({ length: tenants * subscriptions }, (_, i) => i % tenants);
    const ids = Array.from({ length: tenants }, () => new Types.ObjectId());
    const url = new URL(path, receiver.url).href;
    const stored = owners.map((owner) => ({
      _id: new Types.ObjectId(),
      tenant: ids[owner],
      url,
      ...SUBSCRIPTION,
    }));
    const events = Array.from({ length: deliveries }, () => eventId());
    await app.database.collection('subscriptions').insertMany(stored);
    await app.database
      .collection('events')
      .insertMany(events.map((event) => ({ _id: event as never, body: '{}' })));
    await app.app
      .get(DeliveryQueue, { strict: false })
      .add(
        stored.flatMap(({ _id: subscription, tenant }) =>
          events.map((event) => newDelivery({ subscription, tenant, event })),
        ),
      );
  }
  /** Sends answers that are owed, the oldest first. */
  function answer(count: number, status: number): void {
    for (const response of owed.splice(0, count)) response.writeHead(status).end();
  }
  const arrived = (path = '/slow') => receiver.received.filter((one) => one.path === path).length;
  const haveArrived = (count: number, path?: string) =>
    eventually(() => expect(arrived(path)).toBe(count), WITHIN_MS);
  /** Asserts that so many attempts are made, and no more when those of a new tenant are. */
  async function expectOnly(count: number): Promise<void> {
    await haveArrived(count);
    const before = arrived('/new');
    await announce(1, 1, 1, '/new');
    await haveArrived(before + 1, '/new');
    expect(arrived()).toBe(count);
  }

  it('are limited to 8 per subscription', async () => {
    await announce(1, 1, 20);
    await expectOnly(8);
    answer(3, 204);
    await expectOnly(11);
  });

  it('are limited to 32 per tenant', async () => {
    await announce(1, 6, 8);
    await expectOnly(32);
    answer(3, 204);
    await expectOnly(35);
  });

  it('are limited to 128 for all failing subscriptions', async () => {
    receiver.answer = (response) => void response.writeHead(500).end();
    await announce(5, 28, 1);
    await haveArrived(140);
    const deliveries = app.database.collection('deliveries');
    await eventually(async () =>
      expect(await deliveries.countDocuments({ tries: 1, lease: { $exists: false } })).toBe(140),
    );
    receiver.answer = hold;
    await deliveries.updateMany({}, { $set: { dueAt: new Date() } });
    await expectOnly(140 + 128);
    answer(3, 500);
    await expectOnly(140 + 131);
  });

  it('are limited to 256 in total', async () => {
    await announce(10, 4, 12);
    await haveArrived(256);
    answer(3, 204);
    await haveArrived(259);
    expect(app.app.get(DeliveryWorker, { strict: false }).inFlight).toBe(256);
  });
});
