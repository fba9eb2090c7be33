/** @mongodb */
import { Types } from 'mongoose';
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { Receivers } from '../../../src/common/notifications/subscriptions/receivers.js';
import { DueDeliveries } from '../../../src/common/notifications/worker/due-deliveries.js';
import { type Slot, Slots } from '../../../src/common/notifications/worker/slots.js';
import { Database } from '../../../src/common/database/index.js';
import { deliveriesOf, newDeliveries, newDelivery } from '../../support/deliveries.js';
import { useResourceApp } from '../../support/resource-app.js';

const AWAY = new Error('The database is away');
const isAway = () => Promise.reject(AWAY);

describe('a backlog', () => {
  let queue: DeliveryQueue;
  let slots: Slots;
  let due: DueDeliveries;
  const app = useResourceApp(QueueModule);

  beforeEach(async () => {
    await app.empty();
    // One that a test can hold up.
    queue = Object.create(app.app.get(DeliveryQueue, { strict: false })) as DeliveryQueue;
    start(100);
  });
  function start(inAll: number): void {
    slots = new Slots({ perSubscription: 4, proven: inAll, unproven: inAll });
    due = new DueDeliveries(queue, slots, new Receivers(app.connection, app.app.get(Database)));
  }

  /** Adds deliveries of one subscription that have been due for so long that nobody takes them for new. */
  async function addOld(count: number): Promise<void> {
    const { subscription, tenant } = newDelivery();
    slots.record(String(subscription), false);
    await queue.add(newDeliveries(count, { subscription, tenant }));
    await deliveriesOf(app).updateMany({}, { $set: { dueAt: new Date(Date.now() - 60_000) } });
  }
  const leave = (claimed: readonly { slot: Slot }[]) => claimed.forEach(({ slot }) => slot.leave());
  const subscriptionsOf = (claimed: Awaited<ReturnType<typeof due.claim>>) =>
    claimed.map(({ delivery }) => String(delivery.subscription));

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
    start(8);
    // Surveyed now, so that the backlogs are found by their deliveries.
    await due.claim();
    for (let i = 0; i < count; i++) {
      const { subscription } = newDelivery();
      slots.record(String(subscription), false);
      await queue.add(newDeliveries(25, { tenant: owners[i % tenants], subscription }));
    }
    const served = new Map<string, number>();
    for (let claimed = 0; claimed < 10 * count;) {
      const batch = await due.claim();
      for (const one of subscriptionsOf(batch)) served.set(one, (served.get(one) ?? 0) + 1);
      claimed += batch.length;
      leave(batch);
    }
    expect(served.size).toBe(count);
    expect(Math.min(...served.values())).toBeGreaterThan(3);
  });

  it('of many tenants whose receivers hang delays neither a good subscription nor a new one', async () => {
    const [good, fresh] = [newDelivery(), newDelivery()];
    slots.record(String(good.subscription), false);
    const backlogs = Array.from({ length: 60 }, () => newDeliveries(10, { tenant: new Types.ObjectId() }));
    await queue.add(backlogs.flat());
    while ((await due.claim()).length > 0);
    await queue.add([good, fresh]);
    const expected = [good, fresh].map(({ subscription }) => String(subscription));
    expect(subscriptionsOf(await due.claim()).sort()).toEqual(expected.sort());
  });

  it('is not forgotten when a claim fails, and keeps no slot', async () => {
    await addOld(3);
    queue.claim = isAway;
    await expect(due.claim()).rejects.toThrow(AWAY);
    queue.claim = (chosen) => DeliveryQueue.prototype.claim.call(queue, chosen);
    expect(await due.claim()).toHaveLength(3);
  });

  it('does not keep new deliveries waiting while it cannot be surveyed', async () => {
    queue.subscriptionsWithDue = isAway;
    await queue.add([newDelivery()]);
    expect(await due.claim()).toHaveLength(1);
  });

  it('voids no claim when another one cannot be read, and is read again', async () => {
    await addOld(3);
    await addOld(3);
    queue.dueOf = () => {
      Reflect.deleteProperty(queue, 'dueOf');
      return isAway();
    };
    expect(await due.claim()).toHaveLength(3);
    expect(await due.claim()).toHaveLength(3);
  });
});
