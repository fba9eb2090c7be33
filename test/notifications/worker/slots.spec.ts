import { type Slot, Slots, type Target } from '../../../src/common/notifications/worker/slots.js';

const LIMITS = { perSubscription: 8, proven: 160, unproven: 240 };

describe('the slots of a worker', () => {
  let ids = 0;
  const newTarget = (tenant = `tenant ${ids++}`) => ({ tenant, subscription: `subscription ${ids++}` });
  /** Takes slots for subscriptions of one tenant that never answer. */
  const hang = (slots: Slots, subscriptions: number, tenant?: string): Slot[] => {
    const { tenant: owner } = newTarget(tenant);
    return Array.from({ length: subscriptions }, () => slots.take(newTarget(owner))).flat();
  };
  const succeeded = (slots: Slots, tenant?: string): Target => {
    const target = newTarget(tenant);
    slots.record(target.subscription, false);
    return target;
  };

  it('are free again when they are left, once each', () => {
    const slots = new Slots(LIMITS);
    const [one] = hang(slots, 2, 'a tenant');
    for (const _ of ['first', 'second']) one?.leave();
    expect(slots.inFlightOf('a tenant')).toBe(1);
  });

  it('are there for each subscription that a tenant may have, and no more than there are deliveries', () => {
    const slots = new Slots(LIMITS);
    expect(hang(slots, 100)).toHaveLength(100);
    expect(slots.take(succeeded(slots), 3)).toHaveLength(3);
  });

  it.each([1, 5, 60])('are left to good subscriptions by %d tenants whose others all hang', (tenants) => {
    const slots = new Slots(LIMITS);
    const { tenant } = newTarget();
    for (let i = 1; i < tenants; i++) hang(slots, 100);
    hang(slots, 100, tenant);
    expect(slots.take(succeeded(slots, tenant))).toHaveLength(8);
    expect(slots.take(succeeded(slots))).toHaveLength(8);
  });

  it.each([1, 3, 6])('are left to another tenant by %d whose subscriptions are all busy', (tenants) => {
    const slots = new Slots(LIMITS);
    for (let i = 0; i < tenants; i++) {
      const { tenant } = newTarget();
      for (let n = 0; n < 100; n++) slots.take(succeeded(slots, tenant));
    }
    expect(slots.take(succeeded(slots)).length).toBeGreaterThan(0);
    expect(slots.take(newTarget())).toHaveLength(1);
  });

  it('remember a limited number of subscriptions, the latest', () => {
    const slots = new Slots(LIMITS);
    const all = Array.from({ length: 10_001 }, () => succeeded(slots));
    const rooms = [all[0], all[1], all.at(-1)].map((one) => slots.take(one ?? newTarget()).length);
    expect(rooms).toEqual([1, 8, 8]);
  });
});
