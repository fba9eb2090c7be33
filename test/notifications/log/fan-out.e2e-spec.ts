/**
 * @mongodb
 * @slow
 */
import { Types } from 'mongoose';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import type { DeliveryCursor } from '../../../src/common/notifications/log/fan-out.js';
import { deliveriesOf, storeSubscriptions } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { ACME, acme as token, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

/** Long enough for thousands of deliveries on a machine with other work. */
const WITHIN_MS = 60_000;

describe('the fan-out of events', () => {
  const env = { MONGODB_URI: freshDatabaseUri(), WORKER: 'off', WEBHOOK_ALLOW_PRIVATE: 'true' };
  const app = useTestApp({ env });
  beforeEach(() => app.empty());

  const cursors = () => app.database.collection<DeliveryCursor>('delivery_cursors');
  async function subscribe(count: number, tenant = ACME, others: object = {}): Promise<string[]> {
    const members = { tenant: new Types.ObjectId(tenant), ...others };
    const stored = await storeSubscriptions(app, ...Array.from({ length: count }, () => members));
    return stored.map(({ _id }) => String(_id));
  }
  /** Stores subscriptions of which most want other events, but all have their part of the tenant's deliveries. */
  async function subscribeFew(of: number): Promise<string[]> {
    await subscribe(of - 3, ACME, { events: ['todos.created'] });
    return subscribe(3);
  }
  async function post(count: number, tenant = ACME): Promise<void> {
    const create = () => app.post('/posts/api', { title: 'Tea' }, { token: tokenOf(tenant) });
    for (let left = count; left > 0; left -= 25) {
      const answers = await Promise.all(Array.from({ length: Math.min(25, left) }, create));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    }
  }
  const events = () => app.database.collection('events');
  const recorded = (count: number) =>
    eventually(async () => expect(await events().countDocuments()).toBe(count), WITHIN_MS);
  /** The number of deliveries of each subscription. */
  async function counts(): Promise<Record<string, number>> {
    const group = { $group: { _id: '$subscription', count: { $sum: 1 } } };
    const groups = await deliveriesOf(app)
      .aggregate<{ _id: Types.ObjectId; count: number }>([group])
      .toArray();
    return Object.fromEntries(groups.map(({ _id, count }) => [String(_id), count]));
  }
  const expectEach = (ids: readonly string[], count: number) =>
    eventually(async () => {
      const made = await counts();
      expect([Object.keys(made).length, ...new Set(Object.values(made))]).toEqual([ids.length, count]);
    }, WITHIN_MS);
  const finish = (filter: object) =>
    deliveriesOf(app).updateMany(
      { ...filter, status: 'pending' },
      { $set: { status: 'delivered' }, $unset: { dueAt: 1, nextAttemptAt: 1 } },
    );
  /** Waits until all is made that a tenant is due. */
  const closed = () =>
    eventually(async () => {
      const cursor = await cursors().findOne({ _id: ACME });
      expect([cursor?.open, cursor?.seq]).toEqual([undefined, cursor?.head]);
    }, WITHIN_MS);

  it('makes deliveries when earlier ones have been attempted', async () => {
    // As many subscriptions as a tenant may register.
    const [count, posts, due] = [100, 30, 10];
    const ids = await subscribeFew(count);
    await post(posts);
    await recorded(posts);
    await eventually(async () => {
      const made = Object.values(await counts());
      expect([made.length, Math.min(...made) >= due]).toEqual([ids.length, true]);
    }, WITHIN_MS);
    // They make no more, and leave the tenant waiting.
    for (const _ of ['first', 'second']) {
      const past = new Date(0);
      await cursors().updateOne({ _id: ACME }, { $set: { turnAt: past } });
      await eventually(async () => {
        // While a turn lasts, its lease ends later.
        const soon = { $gt: past, $lt: new Date(Date.now() + 5_000) };
        expect(await cursors().countDocuments({ _id: ACME, open: true, turnAt: soon })).toBe(1);
      }, WITHIN_MS);
    }
    // What a single turn makes may be beyond.
    expect(Math.max(...Object.values(await counts()))).toBeLessThan(2 * due);
    await eventually(async () => {
      await finish({});
      expect(new Set(Object.values(await counts()))).toEqual(new Set([posts]));
    }, WITHIN_MS);
    await closed();
  }, 180_000);

  it('goes on for the subscriptions that keep up, and for the others where each stopped', async () => {
    const [slow, good] = (await subscribeFew(10)) as [string, string];
    for (let made = 60; made <= 180; made += 60) {
      await post(60);
      await recorded(made);
      await eventually(async () => expect((await counts())[good]).toBe(made), WITHIN_MS);
      await finish({ subscription: new Types.ObjectId(good) });
    }
    expect((await counts())[slow]).toBeLessThan(180);
    // No turn begins until the slow one has room, and there is another event for both.
    const turnAt = (time: number) => cursors().updateOne({ _id: ACME }, { $set: { turnAt: new Date(time) } });
    await turnAt(Date.now() + 3_600_000);
    await finish({});
    await post(1);
    await recorded(181);
    await turnAt(0);
    await eventually(
      async () => expect(await counts()).toMatchObject({ [slow]: 181, [good]: 181 }),
      WITHIN_MS,
    );
    const latest = await deliveriesOf(app).find().sort({ _id: -1 }).limit(30).toArray();
    expect(latest.map(({ subscription }) => String(subscription))).not.toContain(good);
    await closed();
  }, 120_000);

  it('takes up a turn that has failed before its lease ends', async () => {
    const queue = app.app.get(DeliveryQueue, { strict: false });
    queue.countDue = async (subscriptions) => {
      Reflect.deleteProperty(queue, 'countDue');
      await queue.countDue(subscriptions);
      throw new Error('The database is too slow');
    };
    const ids = await subscribe(1);
    await post(1);
    await eventually(async () => expect(await counts()).toEqual({ [ids[0] ?? '']: 1 }));
    await closed();
  });

  it('lets another tenant have its deliveries while those of one cannot all be made', async () => {
    await subscribeFew(100);
    await post(110);
    const [other = ''] = await subscribe(1, GLOBEX);
    await post(3, GLOBEX);
    await eventually(async () => expect((await counts())[other]).toBe(3), WITHIN_MS);
    expect(await cursors().countDocuments({ _id: ACME, open: true })).toBe(1);
    // Otherwise a turn that is under way would go on during the next test.
    await eventually(async () => {
      await finish({});
      expect(await cursors().countDocuments({ _id: ACME, open: true })).toBe(0);
    }, WITHIN_MS);
  }, 120_000);

  it('gives a subscription the events since its registration, and none from before', async () => {
    const body = { url: 'http://127.0.0.1:9/', events: ['posts.created'] };
    const register = async () => (await app.post('/subscriptions', body, { token })).body._id as string;
    const first = await register();
    await post(2);
    await expectEach([first], 2);
    const second = await register();
    await post(1);
    await eventually(async () => expect(await counts()).toEqual({ [first]: 3, [second]: 1 }));
    // As if the events had to be recorded again, after a crash.
    await cursors().updateOne({ _id: ACME }, { $set: { seq: 0, open: true } });
    await closed();
    expect(await counts()).toEqual({ [first]: 3, [second]: 1 });
  });

  it('makes each delivery once in several processes, and takes over the turn of one that was killed', async () => {
    const others = await Promise.all([createTestApp({ env }), createTestApp({ env })]);
    const ids = await subscribe(20);
    await post(40);
    await expectEach(ids, 40);
    await closed();
    // As if a process had begun a turn and was killed; another one kept the lease, and lost it.
    await deliveriesOf(app).deleteMany({ subscription: new Types.ObjectId(ids[0]) });
    await cursors().updateOne({ _id: ACME }, { $set: { seq: 0, open: true, turnAt: new Date() } });
    await expectEach(ids, 40);
    for (const other of others) await other.leave();
  }, 120_000);
});
