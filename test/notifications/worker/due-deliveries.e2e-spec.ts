/** @mongodb */
import { Types } from 'mongoose';
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { DueDeliveries } from '../../../src/common/notifications/worker/due-deliveries.js';
import {
  Receivers,
  type Slot,
  type SlotLimits,
  Slots,
} from '../../../src/common/notifications/worker/slots.js';
import { Database } from '../../../src/common/database/index.js';
import { newDelivery } from '../../support/deliveries.js';
import { useResourceApp } from '../../support/resource-app.js';

const LIMITS = { perSubscription: 4, proven: 100, unproven: 100 };
const MINUTE_MS = 60_000;

describe('a backlog', () => {
  let queue: DeliveryQueue;
  let slots: Slots;
  let due: DueDeliveries;
  const app = useResourceApp(QueueModule);

  beforeEach(async () => {
    await app.empty();
    // One that a test can hold up.
    queue = Object.create(app.app.get(DeliveryQueue, { strict: false })) as DeliveryQueue;
    start(LIMITS);
  });
  function start(limits: SlotLimits): void {
    slots = new Slots(limits);
    const receivers = new Receivers(app.connection, app.app.get(Database));
    due = new DueDeliveries(queue, slots, receivers);
  }

  /** Adds deliveries of one subscription that have been due for so long that nobody takes them for new. */
  async function addOld(count: number): Promise<void> {
    const [subscription, tenant] = [new Types.ObjectId(), new Types.ObjectId()];
    slots.record(String(subscription), false);
    await queue.add(Array.from({ length: count }, () => ({ ...newDelivery(), subscription, tenant })));
    const $set = { dueAt: new Date(Date.now() - MINUTE_MS) };
    await app.database.collection('deliveries').updateMany({}, { $set });
  }
  const leave = (claimed: readonly { slot: Slot }[]) => claimed.forEach(({ slot }) => slot.leave());

  it('is not forgotten when slots become free while it is read', async () => {
    await addOld(12);
    const [first, ...others] = await due.claim();
    if (!first) throw new Error('Nothing was claimed');
    leave([first]);
    queue.dueOf = async (subscription, limit) => {
      const found = await DeliveryQueue.prototype.dueOf.call(queue, subscription, limit);
      leave(others.splice(0));
      return found;
    };
    const second = await due.claim();
    expect(second).toHaveLength(1);
    expect(await due.claim()).toHaveLength(3);
    leave(second);
    expect(await due.claim()).toHaveLength(1);
  });

  it.each([
    ['of all subscriptions of its tenant', 6, 1],
    ['of more tenants than there are slots for', 12, 12],
  ])('is worked off in turns with those %s', async (_name, count, tenants) => {
    const owners = Array.from({ length: tenants }, () => new Types.ObjectId());
    const subscriptions = Array.from({ length: count }, () => new Types.ObjectId());
    start({ perSubscription: 4, proven: 8, unproven: 8 });
    // Surveyed now, so that the backlogs are found by their deliveries.
    await due.claim();
    for (const [i, subscription] of subscriptions.entries()) {
      const tenant = owners[i % tenants];
      slots.record(String(subscription), false);
      await queue.add(Array.from({ length: 60 }, () => ({ ...newDelivery({ tenant }), subscription })));
    }
    const served = new Map<string, number>();
    for (let claimed = 0; claimed < 20 * count;) {
      const batch = await due.claim();
      for (const { subscription } of batch.map(({ delivery }) => delivery)) {
        served.set(String(subscription), (served.get(String(subscription)) ?? 0) + 1);
      }
      claimed += batch.length;
      leave(batch);
    }
    expect(served.size).toBe(count);
    expect(Math.min(...served.values())).toBeGreaterThan(5);
  });

  it('of many tenants whose receivers hang delays neither a good subscription nor a new one', async () => {
    const [good, fresh] = [newDelivery(), newDelivery()];
    slots.record(String(good.subscription), false);
    for (let i = 0; i < 60; i++) {
      const tenant = new Types.ObjectId();
      await queue.add(Array.from({ length: 100 }, () => newDelivery({ tenant })));
    }
    while ((await due.claim()).length > 0);
    await queue.add([good, fresh]);
    const claimed = (await due.claim()).map(({ delivery }) => String(delivery.subscription));
    expect(claimed.sort()).toEqual([good, fresh].map(({ subscription }) => String(subscription)).sort());
  });

  it('is not forgotten when a claim fails, and keeps no slot', async () => {
    await addOld(3);
    queue.claim = () => Promise.reject(new Error('The database is away'));
    await expect(due.claim()).rejects.toThrow('away');
    queue.claim = (chosen) => DeliveryQueue.prototype.claim.call(queue, chosen);
    expect(await due.claim()).toHaveLength(3);
  });

  it('does not keep new deliveries waiting while it cannot be surveyed', async () => {
    queue.subscriptionsWithDue = () => Promise.reject(new Error('Too slow'));
    await queue.add([newDelivery()]);
    expect(await due.claim()).toHaveLength(1);
  });

  it('voids no claim when another one cannot be read, and is read again', async () => {
    await addOld(3);
    await addOld(3);
    let asked = 0;
    queue.dueOf = (subscription, limit) =>
      asked++ === 0
        ? Promise.reject(new Error('The database is away'))
        : DeliveryQueue.prototype.dueOf.call(queue, subscription, limit);
    expect(await due.claim()).toHaveLength(3);
    expect(await due.claim()).toHaveLength(3);
  });
});
