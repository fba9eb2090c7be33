/** @mongodb */
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import {
  type ClaimedDelivery,
  DeliveryQueue,
} from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { claimOldest, newDelivery, storedDeliveries } from '../../support/deliveries.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { resourceRoot } from '../../support/resource-app.js';
import { createTestApp, type TestAppOptions, useTestApp } from '../../support/test-app.js';

const [SECOND, HOUR] = [1_000, 3_600_000];

const root: TestAppOptions['root'] = (environment, database) =>
  resourceRoot(environment, database, [QueueModule]);

describe('the queue of deliveries', () => {
  const uri = freshDatabaseUri();
  let queue: DeliveryQueue;
  const app = useTestApp({ root, env: { MONGODB_URI: uri } });
  beforeAll(() => void (queue = app.app.get(DeliveryQueue, { strict: false })));
  beforeEach(() => app.empty());

  const only = async () => {
    const [stored, ...others] = await storedDeliveries(app);
    expect(others).toEqual([]);
    return stored;
  };
  const claimOne = async () => {
    const [claimed, ...others] = await claimOldest(queue);
    if (!claimed || others.length > 0) throw new Error('None is due, or several are');
    return claimed;
  };
  /** Changes all deliveries behind the queue's back. */
  const change = (set: object) => app.database.collection('deliveries').updateMany({}, { $set: set });
  const expireLeases = () => change({ dueAt: new Date(Date.now() - SECOND) });
  const nextAt = async () => (await only())?.nextAttemptAt?.getTime() ?? NaN;

  it('makes added deliveries due at once', async () => {
    const added = newDelivery();
    await queue.add([added]);
    expect(await only()).toEqual({
      _id: expect.anything(),
      ...added,
      status: 'pending',
      attempts: [],
      nextAttemptAt: expect.any(Date),
      dueAt: expect.any(Date),
      createdAt: expect.any(Date),
      tries: 0,
    });
    expect(await claimOne()).toEqual({
      _id: expect.anything(),
      ...added,
      lease: expect.any(String),
      dueAt: expect.any(Date),
      tries: 0,
    });
  });

  it('contains an event once per subscription, however often it is added', async () => {
    const [one, two] = [newDelivery(), newDelivery()];
    const toTwo = newDelivery({ ...one, subscription: two.subscription });
    await queue.add([one, two]);
    await Promise.all([queue.add([one, toTwo]), queue.add([two]), queue.add([toTwo, one])]);
    expect((await storedDeliveries(app)).map(({ event }) => event).sort()).toEqual(
      [one.event, one.event, two.event].sort(),
    );
  });

  it('does not change a delivered one when its event is added again', async () => {
    const added = newDelivery();
    await queue.add([added]);
    await queue.finish(await claimOne(), { at: new Date(), status: 200 });
    await queue.add([added]);
    expect(await only()).toMatchObject({ status: 'delivered' });
    expect(await claimOldest(queue)).toEqual([]);
  });

  it('tells its listeners of what this process adds', async () => {
    let told = 0;
    queue.onAdd(() => told++);
    await queue.add([]);
    expect(told).toBe(0);
    await queue.add([newDelivery(), newDelivery()]);
    expect(told).toBe(1);
  });

  it('returns the oldest first, and those that became due since a time', async () => {
    const added = Array.from({ length: 4 }, () => newDelivery());
    for (const delivery of added) await queue.add([delivery]);
    const now = Date.now();
    for (const [i, { event }] of added.entries()) {
      const dueAt = new Date(now - (i === 3 ? -HOUR : i * HOUR));
      await app.database.collection('deliveries').updateOne({ event }, { $set: { dueAt } });
    }
    const dueSince = async (since: number) => {
      const due = [];
      for await (const { subscription } of queue.due(new Date(since))) due.push(String(subscription));
      return due;
    };
    const subscriptions = added.map(({ subscription }) => String(subscription));
    expect(await dueSince(0)).toEqual([subscriptions[2], subscriptions[1], subscriptions[0]]);
    expect(await dueSince(now - 1.5 * HOUR)).toEqual([subscriptions[1], subscriptions[0]]);
  });

  it('gives each delivery to only one worker', async () => {
    const second = await createTestApp({ root, env: { MONGODB_URI: uri } });
    try {
      const queues = [queue, second.app.get(DeliveryQueue, { strict: false })];
      await queue.add(Array.from({ length: 1_000 }, () => newDelivery()));
      const claimed: string[] = [];
      const work = async (worker: DeliveryQueue) => {
        while (claimed.length < 1_000) {
          claimed.push(...(await claimOldest(worker, 100)).map(({ event }) => event));
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, i) => work(queues[i % 2] as DeliveryQueue)));
      expect(claimed).toHaveLength(1_000);
      expect(new Set(claimed).size).toBe(1_000);
    } finally {
      await second.leave();
    }
  });

  it('gives a delivery to another worker when its lease has expired', async () => {
    await queue.add([newDelivery()]);
    const before = Date.now();
    const lost = await claimOne();
    expect(lost.dueAt.getTime() - before).toBeGreaterThanOrEqual(30 * SECOND);
    expect(lost.dueAt.getTime() - Date.now()).toBeLessThanOrEqual(30 * SECOND);
    expect(await claimOldest(queue)).toEqual([]);
    await expireLeases();
    expect(await claimOne()).toMatchObject({ _id: lost._id, tries: 0 });
  });

  it('keeps the place of a delivery whose worker has died', async () => {
    const subscription = newDelivery().subscription;
    const ago = (seconds: number) => new Date(Date.now() - seconds * SECOND);
    await queue.add([newDelivery({ subscription })]);
    await claimOne();
    const first = await only();
    await change({ nextAttemptAt: ago(60), dueAt: ago(1) });
    const later = newDelivery({ subscription });
    await queue.add([later]);
    const { event } = later;
    const deliveries = app.database.collection('deliveries');
    await deliveries.updateOne({ event }, { $set: { nextAttemptAt: ago(10), dueAt: ago(10) } });
    const due = await queue.dueOf(subscription, 10);
    expect(due).toHaveLength(2);
    expect(due[0]?._id).toEqual(first?._id);
  });

  it('ignores the outcome of a worker that has lost its lease', async () => {
    await queue.add([newDelivery()]);
    const lost = await claimOne();
    await expireLeases();
    const { lease } = await claimOne();
    await queue.finish(lost, { at: new Date(), status: 200 });
    await queue.finish(lost, { at: new Date(), status: 500, error: 'Failed' });
    await queue.release(lost);
    await queue.remove(lost);
    expect(await only()).toMatchObject({ status: 'pending', attempts: [], lease, tries: 0 });
  });

  it('stores an outcome once, even if it is reported twice', async () => {
    await queue.add([newDelivery()]);
    const claimed = await claimOne();
    await queue.finish(claimed, { at: new Date(), status: 200 });
    await queue.finish(claimed, { at: new Date(), status: 200 });
    expect((await only())?.attempts).toHaveLength(1);
  });

  it('ends a delivery that succeeds', async () => {
    const added = newDelivery();
    await queue.add([added]);
    const at = new Date();
    await queue.finish(await claimOne(), { at, status: 204 });
    expect(await only()).toEqual({
      _id: expect.anything(),
      ...added,
      status: 'delivered',
      attempts: [{ at, status: 204 }],
      createdAt: expect.any(Date),
      tries: 1,
      __v: 1,
    });
  });

  it('tries again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, and then no more', async () => {
    await queue.add([newDelivery()]);
    const waits: (number | undefined)[] = [];
    const minutes = [5 / 60, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
    for (const expected of minutes) {
      const claimed = await claimOne();
      const before = Date.now();
      await queue.finish(claimed, { at: new Date(), status: 503, error: 'Failed' });
      const wait = (await nextAt()) - before;
      expect(wait).toBeGreaterThanOrEqual(expected * 60 * SECOND);
      expect(wait).toBeLessThanOrEqual(expected * 66 * SECOND + (Date.now() - before));
      waits.push(wait);
      expect(await claimOldest(queue)).toEqual([]);
      await expireLeases();
    }
    await queue.finish(await claimOne(), { at: new Date(), status: 503, error: 'Failed' });
    const dead = await only();
    expect(dead?.attempts).toEqual(
      Array(10).fill({ at: expect.any(Date), status: 503, error: 'Failed' }) as unknown,
    );
    expect(dead).toMatchObject({ status: 'dead', tries: 10 });
    expect(Object.keys(dead ?? {})).not.toEqual(expect.arrayContaining(['nextAttemptAt']));
    await expireLeases();
    expect(await queue.claim([dead as never])).toEqual([]);
  });

  it('ends a delivery at a final failure', async () => {
    await queue.add([newDelivery()]);
    await queue.finish(await claimOne(), { at: new Date(), status: 410, error: 'Gone', final: true });
    expect(await only()).toMatchObject({ status: 'dead', tries: 1 });
    expect((await only())?.attempts).toEqual([{ at: expect.any(Date), status: 410, error: 'Gone' }]);
  });

  it('keeps the last 50 attempts', async () => {
    await queue.add([newDelivery()]);
    await change({ attempts: Array.from({ length: 50 }, (_, i) => ({ at: new Date(i), status: 500 })) });
    await queue.finish(await claimOne(), { at: new Date(), status: 200 });
    const attempts = (await only())?.attempts;
    expect(attempts).toHaveLength(50);
    expect(attempts?.[0]).toMatchObject({ at: new Date(1) });
    expect(attempts?.at(-1)).toMatchObject({ status: 200 });
  });

  it('takes a released delivery back without an attempt', async () => {
    await queue.add([newDelivery()]);
    await queue.release(await claimOne());
    expect(await only()).toMatchObject({ status: 'pending', attempts: [], tries: 0 });
    await claimOne();
  });

  it('removes a delivery', async () => {
    await queue.add([newDelivery()]);
    await queue.remove(await claimOne());
    expect(await storedDeliveries(app)).toEqual([]);
  });

  it('is asked to try again when the worker of a delivery has died', async () => {
    const added = newDelivery();
    await queue.add([added]);
    const { _id } = await claimOne();
    await expireLeases();
    expect(await queue.retry(added.subscription, _id)).toBe(true);
  });

  it('has figures for the operator', async () => {
    expect(await queue.stats()).toEqual({ waiting: 0, inFlight: 0, dead: 0, oldestDueSeconds: 0 });
    await queue.add(Array.from({ length: 7 }, () => newDelivery()));
    const [a, b, c, d] = await claimOldest(queue, 4);
    await queue.finish(a as ClaimedDelivery, { at: new Date(), status: 200 });
    await queue.finish(b as ClaimedDelivery, { at: new Date(), error: 'Gone', final: true });
    await queue.finish(c as ClaimedDelivery, { at: new Date(), error: 'Failed' });
    const waitsFor = { status: 'pending' as const, lease: { $exists: false }, tries: 0 };
    const dueAt = new Date(Date.now() - 100 * SECOND);
    await app.database.collection('deliveries').updateOne(waitsFor, { $set: { dueAt } });
    expect(await queue.stats()).toEqual({
      waiting: 4,
      inFlight: 1,
      dead: 1,
      oldestDueSeconds: expect.closeTo(100, -1),
    });
    expect(d).toBeDefined();
  });

  it('names the subscriptions that have something due', async () => {
    const [due, planned, delivered] = [newDelivery(), newDelivery(), newDelivery()];
    await queue.add([planned, delivered]);
    for (const claimed of await claimOldest(queue)) {
      await queue.finish(claimed, {
        at: new Date(),
        ...(claimed.event === planned.event && { error: 'Failed' }),
      });
    }
    await queue.add([due, newDelivery({ subscription: due.subscription })]);
    expect(await queue.subscriptionsWithDue()).toEqual([due.subscription]);
    expect(await queue.dueOf(due.subscription, 1)).toHaveLength(1);
    expect(await queue.dueOf(due.subscription, 10)).toHaveLength(2);
    expect(await queue.dueOf(planned.subscription, 10)).toEqual([]);
  });
});
