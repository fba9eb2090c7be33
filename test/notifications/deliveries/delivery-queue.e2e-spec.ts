/** @mongodb */
import {
  type AttemptOutcome,
  type ClaimedDelivery,
  DeliveryQueue,
  retryDelayMs,
} from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import {
  deliveriesOf,
  newDeliveries,
  newDelivery,
  onlyDelivery,
  storedDeliveries,
  useQueue,
} from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { useProxiedApp } from '../../support/proxied-app.js';
import { plansOf } from '../../support/query-plans.js';
import { rootOf } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { createTestApp } from '../../support/test-app.js';

const root = rootOf(QueueModule);

/** Claims up to a number of deliveries, the oldest first. */
async function claimOldest(queue: DeliveryQueue, limit = 1_000) {
  const due = [];
  for await (const delivery of queue.due(new Date(0))) {
    due.push(delivery);
    if (due.length === limit) break;
  }
  return queue.claim(due);
}

const [SECOND, HOUR] = [1_000, 3_600_000];
const ANY = { _id: expect.anything() as string, createdAt: expect.any(Date) as Date };

describe('the queue of deliveries', () => {
  const app = useProxiedApp({ root });
  const queue = useQueue(app);
  beforeEach(() => app.empty());

  const add = async (given?: Parameters<typeof newDelivery>[0]) => {
    const added = newDelivery(given);
    await queue.add([added]);
    return added;
  };
  const claimOne = async () => {
    const [claimed, ...others] = await claimOldest(queue);
    if (!claimed || others.length > 0) throw new Error('None is due, or several are');
    return claimed;
  };
  const finishOne = async (outcome: Omit<AttemptOutcome, 'at'>) =>
    queue.finish(await claimOne(), { at: new Date(), ...outcome });
  const ago = (seconds: number) => new Date(Date.now() - seconds * SECOND);
  /** Changes deliveries behind the queue's back. */
  const change = ($set: object, filter = {}) => deliveriesOf(app).updateMany(filter, { $set });
  const expireLeases = () => change({ dueAt: ago(1) });

  it('makes added deliveries due at once, and ends one that succeeds, even if that is reported twice or its event added again', async () => {
    const added = await add();
    const due = { nextAttemptAt: expect.any(Date) as Date, dueAt: expect.any(Date) as Date };
    const stored = { ...added, ...ANY, attempts: [] };
    expect(await onlyDelivery(app)).toEqual({ ...stored, ...due, status: 'pending', tries: 0 });
    const claimed = await claimOne();
    const lease = { lease: expect.any(String) as string, dueAt: due.dueAt };
    expect(claimed).toEqual({ ...added, _id: ANY._id, ...lease, tries: 0 });
    const attempt = { at: new Date(), status: 204 };
    for (const _ of ['first', 'second']) await queue.finish(claimed, attempt);
    await queue.add([added]);
    const ended = { ...stored, status: 'delivered', attempts: [attempt], tries: 1, __v: 1 };
    expect(await onlyDelivery(app)).toEqual(ended);
    expect(await claimOldest(queue)).toEqual([]);
  });

  it('contains an event once per subscription, however often it is added', async () => {
    const [one, two] = [newDelivery(), newDelivery()];
    const toTwo = newDelivery({ ...one, subscription: two.subscription });
    await queue.add([one, two]);
    await Promise.all([queue.add([one, toTwo]), queue.add([two]), queue.add([toTwo, one])]);
    const events = (await storedDeliveries(app)).map(({ event }) => event);
    expect(events.sort()).toEqual([one.event, one.event, two.event].sort());
  });

  it('tells its listeners of what this process adds', async () => {
    const listener = jest.fn();
    queue.added.subscribe(listener);
    await queue.add([]);
    expect(listener).not.toHaveBeenCalled();
    await queue.add(newDeliveries(2));
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('returns the oldest first, and those that became due since a time', async () => {
    const added = [await add(), await add(), await add(), await add()];
    for (const [i, { event }] of added.entries())
      await change({ dueAt: ago((i === 3 ? -1 : i) * 3_600) }, { event });
    const dueSince = async (since: number) => {
      const due = [];
      for await (const { subscription } of queue.due(new Date(since))) due.push(subscription);
      return due;
    };
    const [first, second, third] = added.map(({ subscription }) => subscription);
    expect(await dueSince(0)).toEqual([third, second, first]);
    expect(await dueSince(Date.now() - 1.5 * HOUR)).toEqual([second, first]);
  });

  it('gives each delivery to only one worker', async () => {
    const uri = new URL(freshDatabaseUri());
    uri.pathname = app.database.databaseName;
    const second = await createTestApp({ root, env: { MONGODB_URI: uri.href } });
    const queues = [queue, second.app.get(DeliveryQueue, { strict: false })];
    await queue.add(newDeliveries(200));
    const claimed: string[] = [];
    const work = async (worker: DeliveryQueue) => {
      while (claimed.length < 200) claimed.push(...(await claimOldest(worker, 20)).map(({ event }) => event));
    };
    await Promise.all(Array.from({ length: 6 }, (_, i) => work(queues[i % 2] as DeliveryQueue)));
    await second.leave();
    expect([claimed.length, new Set(claimed).size]).toEqual([200, 200]);
  });

  it('gives a delivery to another worker, or to a retry, when its lease has expired, and ignores what the first one reports', async () => {
    const { subscription } = await add();
    const before = Date.now();
    const lost = await claimOne();
    expect(lost.dueAt.getTime() - before).toBeGreaterThanOrEqual(30 * SECOND);
    expect(lost.dueAt.getTime() - Date.now()).toBeLessThanOrEqual(30 * SECOND);
    expect(await claimOldest(queue)).toEqual([]);
    await expireLeases();
    const { _id, lease, tries } = await claimOne();
    expect([_id, tries]).toEqual([lost._id, 0]);
    await queue.finish(lost, { at: new Date(), status: 200 });
    await queue.finish(lost, { at: new Date(), status: 500, error: 'Failed' });
    await queue.release(lost);
    expect(await onlyDelivery(app)).toMatchObject({ status: 'pending', attempts: [], lease, tries: 0 });
    await expireLeases();
    expect(await queue.retry(subscription, _id)).toBe(true);
  });

  it('keeps the place of a delivery whose worker has died', async () => {
    const { subscription } = await add();
    const { _id } = await claimOne();
    await change({ nextAttemptAt: ago(60), dueAt: ago(1) });
    const { event } = await add({ subscription });
    await change({ nextAttemptAt: ago(10), dueAt: ago(10) }, { event });
    const due = await queue.dueOf(subscription, 10);
    expect(due).toHaveLength(2);
    expect(due[0]?._id).toEqual(_id);
  });

  it('tries again by the schedule, and after the tenth attempt no more', async () => {
    await add();
    for (let failed = 1; failed < 10; failed++) {
      const claimed = await claimOne();
      const before = Date.now();
      await queue.finish(claimed, { at: new Date(), status: 503, error: 'Failed' });
      const wait = Number((await onlyDelivery(app)).nextAttemptAt) - before;
      expect(wait).toBeGreaterThanOrEqual(retryDelayMs(failed, 0) as number);
      expect(wait).toBeLessThanOrEqual((retryDelayMs(failed, 1) as number) + (Date.now() - before));
      expect(await claimOldest(queue)).toEqual([]);
      await expireLeases();
    }
    await finishOne({ status: 503, error: 'Failed' });
    const dead = await onlyDelivery(app);
    const attempts = Array(10).fill({ at: expect.any(Date), status: 503, error: 'Failed' }) as object[];
    expect(dead).toMatchObject({ status: 'dead', tries: 10, attempts });
    expect(dead).not.toHaveProperty('nextAttemptAt');
    await expireLeases();
    expect(await queue.claim([dead as never])).toEqual([]);
  });

  it('keeps the last 50 attempts', async () => {
    await add();
    await change({ attempts: Array.from({ length: 50 }, (_, i) => ({ at: new Date(i), status: 500 })) });
    await finishOne({ status: 200 });
    const { attempts } = await onlyDelivery(app);
    expect(attempts).toHaveLength(50);
    expect([attempts[0]?.at, attempts.at(-1)?.status]).toEqual([new Date(1), 200]);
  });

  it('has metrics for the operator', async () => {
    expect(await queue.stats()).toEqual({ waiting: 0, inFlight: 0, dead: 0, oldestDueSeconds: 0 });
    await queue.add(newDeliveries(7));
    const [a, b, c] = (await claimOldest(queue, 4)) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery];
    const at = new Date();
    await queue.finish(a, { at, status: 200 });
    await queue.finish(b, { at, error: 'Gone', final: true });
    await queue.finish(c, { at, error: 'Failed' });
    const unclaimed = { status: 'pending', lease: { $exists: false }, tries: 0 } as const;
    const waiting = await deliveriesOf(app).findOne(unclaimed);
    await change({ dueAt: ago(100) }, { _id: waiting?._id });
    const oldestDueSeconds = expect.closeTo(100, -1) as number;
    expect(await queue.stats()).toEqual({ waiting: 4, inFlight: 1, dead: 1, oldestDueSeconds });
  });

  it('names the subscriptions that have something due', async () => {
    const [due, planned] = [newDelivery(), await add()];
    await finishOne({ error: 'Failed' });
    await add();
    await finishOne({ status: 200 });
    await queue.add([due, newDelivery({ subscription: due.subscription })]);
    expect(await queue.subscriptionsWithDue()).toEqual([due.subscription]);
    expect(await queue.dueOf(due.subscription, 1)).toHaveLength(1);
    expect(await queue.dueOf(due.subscription, 10)).toHaveLength(2);
    expect(await queue.dueOf(planned.subscription, 10)).toEqual([]);
  });

  it('needs one command to add deliveries, three to claim a batch, and one for simultaneous outcomes', async () => {
    const deliveries = newDeliveries(100);
    const sent = await commandsOf(app, async () => {
      await queue.add(deliveries);
      const claimed = await claimOldest(queue, 100);
      const outcome = { at: new Date(), status: 200 };
      await Promise.all(claimed.map((one) => queue.finish(one, outcome)));
    });
    const names = ['insert', 'find', 'update', 'find', 'update'].map((command) => `${command} deliveries`);
    expect(sent.map(({ name }) => name)).toEqual(names);
    expect(await deliveriesOf(app).countDocuments({ status: 'delivered' })).toBe(100);
  });

  it('reads no more than it returns, however many are delivered, dead or planned', async () => {
    const documents = newDeliveries(400).map((delivery, i) => ({
      ...delivery,
      status: (['delivered', 'delivered', 'dead', 'pending'] as const)[i % 4],
      ...(i % 4 === 3 && { dueAt: new Date(Date.now() + HOUR) }),
    }));
    await app.database.collection('deliveries').insertMany(documents);
    const due = newDelivery();
    await queue.add([...newDeliveries(9), due]);
    const plans = await plansOf(app, 'deliveries', async () => {
      await claimOldest(queue, 5);
      await queue.dueOf(due.subscription, 5);
    });
    expect(plans).not.toEqual([]);
    for (const { keysExamined, documentsExamined } of plans)
      expect(Math.max(keysExamined, documentsExamined)).toBeLessThan(30);
  });

  it('does not count a delivery as known if the database cannot be reached', async () => {
    const deliveries = newDeliveries(2);
    await app.proxy.turn('refuse');
    await expect(queue.add(deliveries)).rejects.toThrow();
    await app.proxy.turn('pass');
    await eventually(() => queue.add(deliveries));
    const events = (await storedDeliveries(app)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(deliveries.map(({ event }) => event)));
  });

  it('keeps a delivery for 30 days', async () => {
    const index = { key: { createdAt: 1 }, expireAfterSeconds: 30 * 24 * 60 * 60 };
    expect(await deliveriesOf(app).indexes()).toContainEqual(expect.objectContaining(index));
  });

  it.each([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((wait, i) => [i + 1, wait]))(
    'waits after %d failures for %d s before the next attempt, and up to a tenth longer',
    (failed, seconds) => {
      expect(retryDelayMs(failed, 0)).toBe(seconds * SECOND);
      expect(retryDelayMs(failed, 1)).toBeCloseTo(1.1 * seconds * SECOND);
      expect(retryDelayMs(failed)).not.toBe(retryDelayMs(failed));
    },
  );
});
