/** @mongodb */
import { randomBytes } from 'node:crypto';
import { Types } from 'mongoose';
import { Webhook } from 'standardwebhooks';
import { Metrics } from '../../../src/common/metrics/index.js';
import type { QueuedDelivery } from '../../../src/common/notifications/deliveries/delivery.entity.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { DeliveryWorker, NotificationsModule } from '../../../src/common/notifications/index.js';
import { newDelivery, storedDeliveries, storedEvent } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { RawReceiver, type Received, Receiver } from '../../support/receiver.js';
import { resourceRoot } from '../../support/resource-app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { createTestApp, type TestApp, type TestAppOptions } from '../../support/test-app.js';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

describe('a worker', () => {
  const uri = freshDatabaseUri();
  const root: TestAppOptions['root'] = (environment, database) =>
    resourceRoot(environment, database, [
      NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
    ]);
  const start = (mongodbUri = uri) => createTestApp({ root, env: { MONGODB_URI: mongodbUri } });
  let app: TestApp;
  let queue: DeliveryQueue;
  let receiver: Receiver;

  beforeEach(async () => {
    app = await start();
    queue = app.app.get(DeliveryQueue, { strict: false });
    receiver = await Receiver.start();
    for (const name of ['subscriptions', 'events']) {
      if ((await app.database.listCollections({ name }).toArray()).length === 0)
        await app.database.createCollection(name);
    }
    await app.empty();
  });
  afterEach(async () => {
    await receiver.close();
    await app.leave();
  });

  /** Stores a subscription as the resource does; `others` replace or add members. */
  const subscribe = async (url = receiver.url, others: object = {}) => {
    const subscription = {
      _id: new Types.ObjectId(),
      tenant: new Types.ObjectId(),
      url,
      secret: newSecret(),
    };
    const stored = { ...subscription, events: ['posts.created'], enabled: true, __v: 0, ...others };
    await app.database.collection('subscriptions').insertOne(stored);
    return { subscription: subscription._id, tenant: subscription.tenant, secret: subscription.secret };
  };
  type Subscription = Awaited<ReturnType<typeof subscribe>>;
  /** Stores events and adds a delivery of each. */
  const announce = async ({ subscription, tenant }: Subscription, count = 1) => {
    const events = Array.from({ length: count }, (_, i) => storedEvent(`{"number":${i}}`));
    await app.database.collection('events').insertMany(events);
    await queue.add(events.map(({ _id }) => newDelivery({ event: _id, subscription, tenant })));
    return events.map(({ _id, body }) => ({ id: _id as string, body }));
  };
  const only = async (): Promise<QueuedDelivery> => {
    const [stored, ...others] = await storedDeliveries(app);
    if (!stored || others.length > 0) throw new Error(`There are ${others.length} others`);
    return stored;
  };
  const finished = () =>
    eventually(async () => {
      const stored = await only();
      expect(stored.attempts).toHaveLength(1);
      return stored;
    });
  const attemptsThat = async (outcome: string) => {
    const { registry } = app.app.get(Metrics, { strict: false });
    const counted = await registry.getSingleMetric('notifications_delivery_attempts_total')?.get();
    return counted?.values.find(({ labels }) => labels.outcome === outcome)?.value;
  };
  const stored = (query: object) => app.database.collection('subscriptions').findOne(query);

  it('delivers an event exactly as logged, signed', async () => {
    const to = await subscribe();
    const [event] = await announce(to);
    expect(await finished()).toMatchObject({ status: 'delivered', attempts: [{ status: 204 }] });
    const [{ headers, body }] = receiver.received as unknown as [Received];
    expect(headers['webhook-id']).toBe(event?.id);
    expect(body.toString()).toBe(event?.body);
    new Webhook(to.secret).verify(body.toString(), headers as Record<string, string>);
    expect(await attemptsThat('delivered')).toBe(1);
  });

  it('also signs with previous secrets until they expire', async () => {
    const [valid, expired] = [newSecret(), newSecret()];
    const previous = { secret: valid, until: new Date(Date.now() + 3_600_000) };
    const over = { secret: expired, until: new Date() };
    const one = await subscribe(receiver.url, { previousSecrets: [previous, over] });
    await announce(one);
    await announce(await subscribe(receiver.url, { previousSecrets: [over] }));
    await eventually(() => expect(receiver.received).toHaveLength(2));
    const signatures = receiver.received.map(({ headers }) =>
      String(headers['webhook-signature']).split(' '),
    );
    expect(signatures.map(({ length }) => length).sort()).toEqual([1, 2]);
    const both = receiver.received.find((_, i) => signatures[i]?.length === 2);
    for (const secret of [valid, one.secret]) {
      new Webhook(secret).verify(String(both?.body), both?.headers as Record<string, string>);
    }
  });

  it('tries again after a failure, with the same id and bytes', async () => {
    const statuses = [500, 204];
    receiver.answer = (response) => void response.writeHead(statuses.shift() ?? 204).end();
    await announce(await subscribe());
    expect(await finished()).toMatchObject({
      status: 'pending',
      attempts: [{ at: expect.any(Date), status: 500, error: 'The answer has the status 500.' }],
      nextAttemptAt: expect.any(Date),
    });
    await app.database.collection('deliveries').updateMany({}, { $set: { dueAt: new Date() } });
    await eventually(async () => expect(await only()).toMatchObject({ status: 'delivered', tries: 2 }));
    const [first, second] = receiver.received;
    expect(second?.body).toEqual(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  it('disables the subscription of a receiver that is gone', async () => {
    receiver.answer = (response) => void response.writeHead(410).end();
    await announce(await subscribe());
    expect(await finished()).toMatchObject({ status: 'dead', attempts: [{ status: 410 }] });
    expect(await stored({})).toMatchObject({ enabled: false, __v: 1, updatedAt: expect.any(Date) });
  });

  it('leaves a subscription enabled that got another URL meanwhile', async () => {
    receiver.answer = (response) => {
      const change = { $set: { url: 'http://127.0.0.1:1/' } };
      void app.database
        .collection('subscriptions')
        .updateMany({}, change)
        .then(() => response.writeHead(410).end());
    };
    await announce(await subscribe());
    expect(await finished()).toMatchObject({ status: 'dead' });
    expect(await stored({})).toMatchObject({ enabled: true });
  });

  it('ends deliveries of a disabled subscription', async () => {
    await announce(await subscribe(receiver.url, { enabled: false }));
    const error = 'The subscription is disabled.';
    expect(await finished()).toMatchObject({ status: 'dead', attempts: [{ error }] });
    expect(receiver.received).toEqual([]);
  });

  it('removes deliveries of a subscription that is deleted', async () => {
    const to = await subscribe();
    await app.database.collection('subscriptions').deleteMany({});
    await announce(to);
    await eventually(async () => expect(await storedDeliveries(app)).toEqual([]));
    expect(receiver.received).toEqual([]);
  });

  it('ends deliveries of an event that is no longer kept', async () => {
    const { subscription, tenant } = await subscribe();
    await queue.add([newDelivery({ subscription, tenant })]);
    const error = 'The event is no longer kept.';
    expect(await finished()).toMatchObject({ status: 'dead', attempts: [{ error }] });
  });

  it('takes over what another worker left, and finds what another process added', async () => {
    const { subscription, tenant } = await subscribe();
    const events = [storedEvent(), storedEvent()];
    await app.database.collection('events').insertMany(events);
    const [left, added] = events.map(({ _id }) => ({
      ...newDelivery({ event: _id, subscription, tenant }),
      status: 'pending',
      attempts: [],
      tries: 0,
      dueAt: new Date(),
    }));
    await app.database.collection('deliveries').insertMany([{ ...left, lease: 'dead' }, { ...added }]);
    await eventually(async () =>
      expect((await storedDeliveries(app)).map(({ status }) => status)).toEqual(['delivered', 'delivered']),
    );
  });

  it('delivers to others at once while 300 deliveries wait for one that hangs', async () => {
    const hanging = await RawReceiver.start(() => undefined);
    await announce(await subscribe(hanging.url), 300);
    await eventually(() => expect(hanging.open).toBeGreaterThan(0));
    for (let i = 0; i < 5; i++) await announce(await subscribe(), 20);
    await eventually(() => expect(receiver.received).toHaveLength(100));
    expect(hanging.connections).toBe(1);
    await hanging.close();
  });

  it('works through a backlog of one subscription', async () => {
    await announce(await subscribe(), 60);
    await eventually(async () =>
      expect(await queue.stats()).toMatchObject({ waiting: 0, inFlight: 0, dead: 0 }),
    );
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
    expect(receiver.received).toHaveLength(60);
  });

  it('shares the deliveries with others, each made once', async () => {
    const second = await start();
    const subscriptions = await Promise.all(Array.from({ length: 10 }, () => subscribe()));
    await Promise.all(subscriptions.map((to) => announce(to, 30)));
    await eventually(async () => expect(await queue.stats()).toMatchObject({ waiting: 0, inFlight: 0 }));
    expect(receiver.received).toHaveLength(300);
    await second.leave();
  });

  it('finishes what is in flight when it stops, and claims nothing more', async () => {
    let release: () => void = () => undefined;
    receiver.answer = (response) => (release = () => void response.writeHead(200).end());
    const to = await subscribe();
    await announce(to);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    const stopped = app.app.get(DeliveryWorker, { strict: false }).stop();
    await announce(to);
    release();
    await stopped;
    expect((await storedDeliveries(app)).map(({ status }) => status)).toEqual(['delivered', 'pending']);
    expect(receiver.received).toHaveLength(1);
  });

  it('returns attempts that do not end to the queue when it stops, before they are given up', async () => {
    const hanging = await RawReceiver.start(() => undefined);
    await announce(await subscribe(hanging.url));
    await eventually(() => expect(hanging.open).toBe(1));
    await app.app.get(DeliveryWorker, { strict: false }).stop();
    const left = await only();
    expect(left).toMatchObject({ status: 'pending', attempts: [], tries: 0 });
    expect(left.lease).toBeUndefined();
    expect(left.dueAt?.getTime()).toBeLessThanOrEqual(Date.now());
    await hanging.close();
  });

  it('stores the outcome of an attempt when the database is back', async () => {
    const proxy = await TcpProxy.before(uri);
    await app.leave();
    app = await start(proxy.through(uri));
    queue = app.app.get(DeliveryQueue, { strict: false });
    let answer: () => void = () => undefined;
    receiver.answer = (response) => (answer = () => void response.writeHead(200).end());
    await announce(await subscribe());
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await proxy.turn('refuse');
    answer();
    await eventually(async () => expect(await attemptsThat('delivered')).toBe(1));
    await proxy.turn('pass');
    await eventually(async () => expect(await only()).toMatchObject({ status: 'delivered' }));
    expect(receiver.received).toHaveLength(1);
    await app.leave();
    app = await start();
    await proxy.close();
  });
});
