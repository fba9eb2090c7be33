import { Types } from 'mongoose';
import { DeliveriesModule } from '../src/notifications/deliveries/deliveries.module.js';
import { type ClaimedDelivery, DeliveryQueue } from '../src/notifications/deliveries/delivery-queue.js';
import { DueDeliveries } from '../src/notifications/worker/due-deliveries.js';
import { Lanes } from '../src/notifications/worker/lanes.js';
import { newDelivery } from './support/deliveries.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

const LIMITS = { perSubscription: 4, perTenant: 100, failing: 100, total: 100 };
const MINUTE_MS = 60_000;

describe('a backlog', () => {
  let app: TestApp;
  let queue: DeliveryQueue;
  let lanes: Lanes;
  let due: DueDeliveries;

  beforeAll(async () => {
    app = await createResourceApp(DeliveriesModule);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.empty();
    // One that a test can hold up.
    queue = Object.create(app.app.get(DeliveryQueue, { strict: false })) as DeliveryQueue;
    lanes = new Lanes(LIMITS);
    due = new DueDeliveries(queue, lanes);
  });

  /** Adds deliveries of one subscription that have been due for so long that nobody takes them for new. */
  async function addOld(count: number): Promise<void> {
    const [subscription, tenant] = [new Types.ObjectId(), new Types.ObjectId()];
    await queue.add(Array.from({ length: count }, () => ({ ...newDelivery(), subscription, tenant })));
    const $set = { dueAt: new Date(Date.now() - MINUTE_MS) };
    await app.database.collection('deliveries').updateMany({}, { $set });
  }
  const leave = (claimed: readonly ClaimedDelivery[]) => claimed.forEach((one) => lanes.leave(one));

  it('is not forgotten when places become free while it is read', async () => {
    await addOld(12);
    const [first, ...others] = await due.claim();
    if (!first) throw new Error('Nothing was claimed');
    lanes.leave(first);
    queue.dueOf = async (subscription, limit) => {
      const found = await DeliveryQueue.prototype.dueOf.call(queue, subscription, limit);
      leave(others.splice(0));
      return found;
    };
    const second = await due.claim();
    expect(second).toHaveLength(2);
    leave(second);
    expect(await due.claim()).toHaveLength(4);
  });

  it('is not forgotten when a claim fails, and keeps no place', async () => {
    await addOld(3);
    queue.claim = () => Promise.reject(new Error('The database is away'));
    await expect(due.claim()).rejects.toThrow('away');
    expect(lanes.inFlight).toBe(0);
    queue.claim = (chosen) => DeliveryQueue.prototype.claim.call(queue, chosen);
    expect(await due.claim()).toHaveLength(3);
  });

  it('does not keep new deliveries waiting while it cannot be surveyed', async () => {
    queue.subscriptionsWithDue = () => Promise.reject(new Error('Too slow'));
    await queue.add([newDelivery()]);
    await expect(due.claim()).rejects.toThrow('Too slow');
    expect(await due.claim()).toHaveLength(1);
  });

  it('keeps no place when the reading of another one fails', async () => {
    await addOld(3);
    await addOld(3);
    let asked = 0;
    let ended: Promise<unknown> = Promise.resolve();
    queue.dueOf = (subscription, limit) => {
      if (asked++ === 0) return Promise.reject(new Error('The database is away'));
      const reading = DeliveryQueue.prototype.dueOf.call(queue, subscription, limit);
      ended = reading;
      return reading;
    };
    await expect(due.claim()).rejects.toThrow('away');
    await ended;
    expect(lanes.inFlight).toBe(0);
    expect(await due.claim()).toHaveLength(6);
  });
});
