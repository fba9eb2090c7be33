import { Types } from 'mongoose';
import { Slots } from '../../../src/notifications/worker/slots.js';

const LIMITS = { perSubscription: 8, total: 320 };

describe('the slots of a worker', () => {
  const deliveryOf = (tenant = new Types.ObjectId(), subscription = new Types.ObjectId()) => ({
    _id: new Types.ObjectId(),
    tenant,
    subscription,
  });
  /** Takes slots for subscriptions of one tenant that never answer; returns how many were there to take. */
  const hang = (slots: Slots, subscriptions: number, tenant = new Types.ObjectId()) =>
    Array.from({ length: subscriptions }, () => slots.take(deliveryOf(tenant))).filter(Boolean).length;
  /** As many deliveries as a subscription gets. */
  const fill = (slots: Slots, { tenant, subscription } = deliveryOf()) => {
    let count = 0;
    while (slots.take(deliveryOf(tenant, subscription))) count++;
    return count;
  };

  it('are one for a subscription until an attempt succeeds, and again when one fails', () => {
    const slots = new Slots(LIMITS);
    const one = deliveryOf();
    expect(slots.roomOf(one)).toBe(1);
    slots.record(one, false);
    expect([slots.roomOf(one), slots.roomOf(deliveryOf())]).toEqual([8, 1]);
    slots.record(one, true);
    expect(slots.roomOf(one)).toBe(1);
  });

  it('are left to the good subscription of a tenant by all its others that hang', () => {
    const [slots, tenant, good] = [new Slots(LIMITS), new Types.ObjectId(), new Types.ObjectId()];
    expect(hang(slots, 99, tenant)).toBe(99);
    expect(fill(slots, deliveryOf(tenant, good))).toBe(1);
    slots.record({ subscription: good }, false);
    expect(fill(slots, deliveryOf(tenant, good))).toBe(7);
  });

  it('are left to good subscriptions of a tenant even by more of them than may be registered today', () => {
    const [slots, tenant, good] = [new Slots(LIMITS), new Types.ObjectId(), new Types.ObjectId()];
    expect(hang(slots, 6_000, tenant)).toBe(107);
    slots.record({ subscription: good }, false);
    expect(fill(slots, deliveryOf(tenant, good))).toBe(8);
  });

  it.each([1, 5, 10])('are left to another tenant by %d whose subscriptions all hang', (tenants) => {
    const slots = new Slots(LIMITS);
    for (let i = 0; i < tenants; i++) expect(hang(slots, 100)).toBeGreaterThan(0);
    expect(fill(slots)).toBe(1);
  });

  it.each([1, 3, 6])('are left to another tenant by %d whose subscriptions are all busy', (tenants) => {
    const slots = new Slots(LIMITS);
    for (let i = 0; i < tenants; i++) {
      const tenant = new Types.ObjectId();
      for (let n = 0; n < 100; n++) {
        const one = deliveryOf(tenant);
        slots.record(one, false);
        fill(slots, one);
      }
    }
    const next = deliveryOf();
    slots.record(next, false);
    expect(fill(slots, next)).toBeGreaterThan(0);
  });

  it('remember a limited number of subscriptions, the latest', () => {
    const slots = new Slots(LIMITS);
    const all = Array.from({ length: 10_001 }, () => deliveryOf());
    for (const one of all) slots.record(one, false);
    expect([all[0], all[1], all.at(-1)].map((one) => slots.roomOf(one ?? deliveryOf()))).toEqual([1, 8, 8]);
  });
});
