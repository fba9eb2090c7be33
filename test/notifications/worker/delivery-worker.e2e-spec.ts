import type { ServerResponse } from 'node:http';
import { Types } from 'mongoose';
import { Webhook } from 'standardwebhooks';
import { Metrics } from '../../../src/common/metrics/index.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { DeliveryWorker, NotificationsModule } from '../../../src/common/notifications/index.js';
import {
  deliveriesOf,
  newDelivery,
  newSecret,
  onlyDelivery,
  storedDeliveries,
  storedEvent,
  storeSubscriptions,
} from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { RawReceiver, type Received, Receiver } from '../../support/receiver.js';
import { rootOf } from '../../support/resource-app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

describe('a worker', () => {
  const uri = freshDatabaseUri();
  const targets = { allowPrivate: true, httpsOnly: false };
  let app: TestApp;
  const receiver = Receiver.forEach();

  const start = (mongodbUri = uri) => {
    const root = rootOf(NotificationsModule.forRoot({ targets }));
    return createTestApp({ root, env: { MONGODB_URI: mongodbUri } });
  };
  beforeEach(async () => {
    app = await start();
    await app.empty();
  });
  afterEach(() => app.leave());

  const queue = () => app.app.get(DeliveryQueue, { strict: false });
  const stop = () => app.app.get(DeliveryWorker, { strict: false }).stop();
  const subscriptions = () => app.database.collection('subscriptions');
  const subscribeAll = async (...others: object[]) => {
    const stored = await storeSubscriptions(app, ...others.map((one) => ({ url: receiver.url, ...one })));
    return stored.map(({ _id: subscription, ...rest }) => ({ ...rest, subscription }));
  };
  type Subscription = Awaited<ReturnType<typeof subscribeAll>>[number];
  const subscribe = async (others: object = {}) => (await subscribeAll(others))[0] as Subscription;
  /** Stores events and adds deliveries of each. */
  const announce = async (to: Subscription | readonly Subscription[], count = 1) => {
    const events = Array.from({ length: count }, (_, i) => storedEvent(`{"number":${i}}`));
    await app.database.collection('events').insertMany(events);
    const deliveriesTo = ({ subscription, tenant }: Subscription) =>
      events.map(({ _id }) => newDelivery({ event: _id, subscription, tenant }));
    await queue().add([to].flat().flatMap(deliveriesTo));
    return events;
  };
  const arrived = (count: number) => eventually(() => expect(receiver.received).toHaveLength(count));
  /** Asserts what is stored of the only delivery after its first attempt. */
  const expectFinished = (expected: object) =>
    eventually(async () => {
      const stored = await onlyDelivery(app);
      expect(stored.attempts).toHaveLength(1);
      expect(stored).toMatchObject(expected);
    });
  const statuses = async () => (await storedDeliveries(app)).map(({ status }) => status);
  const deliveredAttempts = async () => {
    const { registry } = app.app.get(Metrics, { strict: false });
    const counted = await registry.getSingleMetric('notifications_delivery_attempts_total')?.get();
    return counted?.values.find(({ labels }) => labels.outcome === 'delivered')?.value ?? 0;
  };

  it('delivers an event exactly as logged, signed', async () => {
    const [to, before] = [await subscribe(), await deliveredAttempts()];
    const [event] = await announce(to);
    await expectFinished({ status: 'delivered', attempts: [{ status: 204 }] });
    const [{ headers, body }] = receiver.received as [Received];
    expect([headers['webhook-id'], body]).toEqual([event?._id, event?.body]);
    new Webhook(to.secret).verify(body, headers);
    expect(await deliveredAttempts()).toBe(before + 1);
  });

  it('also signs with previous secrets until they expire', async () => {
    const valid = { secret: newSecret(), until: new Date(Date.now() + 3_600_000) };
    const over = { secret: newSecret(), until: new Date() };
    const one = await subscribe({ previousSecrets: [valid, over] });
    await announce(one);
    await arrived(1);
    const [{ headers, body }] = receiver.received as [Received];
    expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    for (const { secret } of [valid, one]) new Webhook(secret).verify(body, headers);
  });

  it('tries again after a failure, with the same id and bytes', async () => {
    const statuses = [500, 204];
    receiver.answer = (_, response) => void response.writeHead(statuses.shift() ?? 204).end();
    await announce(await subscribe());
    await expectFinished({
      status: 'pending',
      attempts: [{ at: expect.any(Date), status: 500, error: 'The answer has the status 500.' }],
      nextAttemptAt: expect.any(Date),
    });
    await deliveriesOf(app).updateMany({}, { $set: { dueAt: new Date() } });
    const delivered = { status: 'delivered', tries: 2 };
    await eventually(async () => expect(await onlyDelivery(app)).toMatchObject(delivered));
    const [first, second] = receiver.received.map(({ body, headers }) => [body, headers['webhook-id']]);
    expect(second).toEqual(first);
  });

  it('disables the subscription of a receiver that is gone', async () => {
    receiver.answer = (_, response) => void response.writeHead(410).end();
    await announce(await subscribe());
    await expectFinished({ status: 'dead', attempts: [{ status: 410 }] });
    const disabled = { enabled: false, __v: 1, updatedAt: expect.any(Date) as Date };
    expect(await subscriptions().findOne({})).toMatchObject(disabled);
  });

  it('leaves a subscription enabled that got another URL meanwhile', async () => {
    receiver.answer = (_, response) => {
      const changed = subscriptions().updateMany({}, { $set: { url: 'http://127.0.0.1:1/' } });
      void changed.then(() => response.writeHead(410).end());
    };
    await announce(await subscribe());
    await expectFinished({ status: 'dead' });
    expect(await subscriptions().findOne({})).toMatchObject({ enabled: true });
  });

  it('ends deliveries of a disabled subscription, and of an event that is no longer kept', async () => {
    await announce(await subscribe({ enabled: false }));
    await expectFinished({ status: 'dead', attempts: [{ error: 'The subscription is disabled.' }] });
    await app.empty();
    const { subscription, tenant } = await subscribe();
    await queue().add([newDelivery({ subscription, tenant })]);
    await expectFinished({ status: 'dead', attempts: [{ error: 'The event is no longer kept.' }] });
    expect(receiver.received).toEqual([]);
  });

  it('removes deliveries of a subscription that is deleted', async () => {
    const to = await subscribe();
    await subscriptions().deleteMany({});
    await announce(to);
    await eventually(async () => expect(await storedDeliveries(app)).toEqual([]));
    expect(receiver.received).toEqual([]);
  });

  it('takes over what another worker left, and finds what another process added', async () => {
    const { subscription, tenant } = await subscribe();
    const events = [storedEvent(), storedEvent()];
    await app.database.collection('events').insertMany(events);
    const [left, added] = events.map(({ _id }) => ({
      ...newDelivery({ event: _id, subscription, tenant }),
      ...{ status: 'pending', attempts: [], tries: 0, dueAt: new Date() },
    }));
    await app.database.collection('deliveries').insertMany([{ ...left, lease: 'dead' }, { ...added }]);
    await eventually(async () => expect(await statuses()).toEqual(['delivered', 'delivered']));
  });

  describe('attempts at a time', () => {
    /** Answers that the receiver still owes, the oldest first. */
    let owed: ServerResponse[];
    beforeEach(() => {
      owed = [];
      receiver.answer = ({ url }, response) =>
        url === '/new' ? response.writeHead(204).end() : owed.push(response);
    });
    function answer(count: number, status: number): void {
      for (const response of owed.splice(0, count)) response.writeHead(status).end();
    }
    const arrivedAt = (path: string) => receiver.received.filter((one) => one.path === path).length;
    const haveArrived = (count: number, path = '/hook') =>
      eventually(() => expect(arrivedAt(path)).toBe(count));
    /** Asserts that so many attempts are made, and no more when those of a new tenant are. */
    async function expectOnly(count: number): Promise<void> {
      await haveArrived(count);
      const before = arrivedAt('/new');
      await announce(await subscribe({ url: new URL('/new', receiver.url).href }));
      await haveArrived(before + 1, '/new');
      expect(arrivedAt('/hook')).toBe(count);
    }

    it('are one for a subscription until it has answered, then 8, and one again after a failure', async () => {
      await announce(await subscribe(), 20);
      await expectOnly(1);
      answer(1, 204);
      await expectOnly(1 + 8);
      answer(3, 204);
      await expectOnly(1 + 8 + 3);
      answer(8, 500);
      await expectOnly(1 + 8 + 3 + 1);
    });

    it('leave a slot to each subscription of a tenant, and are limited to 400 in all', async () => {
      const ofTenants = (count: number, url = receiver.url) =>
        Array.from({ length: count }, () => ({ tenant: new Types.ObjectId(), url }));
      const inFlight = () => owed.filter((one) => !one.destroyed && !one.writableEnded);
      const tenants = ofTenants(25);
      await announce(await subscribeAll(...tenants, ...tenants), 12);
      await haveArrived(50);
      answer(50, 204);
      await eventually(() => expect(inFlight().length).toBeGreaterThan(150));
      await announce(await subscribeAll(...ofTenants(260, `${receiver.url}/new`)));
      const moreNew = (than: number) =>
        eventually(() => expect(arrivedAt('/hook/new')).toBeGreaterThan(than));
      await moreNew(239);
      const answered = owed.find(({ req }) => req.url === '/hook/new');
      answered?.writeHead(500).end();
      await moreNew(240);
      expect(inFlight().length).toBeLessThanOrEqual(400);
    });
  });

  it('finishes what is in flight when it stops, and claims nothing more', async () => {
    let release = () => {};
    receiver.answer = (_, response) => (release = () => void response.writeHead(200).end());
    const to = await subscribe();
    await announce(to);
    await arrived(1);
    const stopped = stop();
    await announce(to);
    release();
    await stopped;
    expect(await statuses()).toEqual(['delivered', 'pending']);
    expect(receiver.received).toHaveLength(1);
  });

  it('returns attempts that do not end to the queue when it stops, before they are given up', async () => {
    const hanging = await RawReceiver.start();
    await announce(await subscribe({ url: hanging.url }));
    await eventually(() => expect(hanging.open).toBe(1));
    await stop();
    const left = await onlyDelivery(app);
    expect(left).toMatchObject({ status: 'pending', attempts: [], tries: 0 });
    expect(left).not.toHaveProperty('lease');
    expect(left.dueAt?.getTime()).toBeLessThanOrEqual(Date.now());
    await hanging.close();
  });

  it('stores the outcome of an attempt when the database is back', async () => {
    const proxy = await TcpProxy.before(uri);
    await app.leave();
    app = await start(proxy.through(uri));
    let answer = () => {};
    receiver.answer = (_, response) => (answer = () => void response.writeHead(200).end());
    await announce(await subscribe());
    await arrived(1);
    await proxy.turn('refuse');
    answer();
    await eventually(async () => expect(await deliveredAttempts()).toBe(1));
    await proxy.turn('pass');
    await eventually(async () => expect(await statuses()).toEqual(['delivered']));
    expect(receiver.received).toHaveLength(1);
    await app.leave();
    app = await start();
    await proxy.close();
  });
});
