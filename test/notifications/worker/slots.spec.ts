import { type Slot, Slots, type Target } from '../../../src/common/notifications/worker/slots.js';

describe('the slots of a worker', () => {
  let slots: Slots;
  beforeEach(() => (slots = new Slots()));
  let ids = 0;
  const newTarget = (tenant = `tenant ${ids++}`) => ({ tenant, subscription: `subscription ${ids++}` });
  /** Takes slots for subscriptions of one tenant that never answer. */
  const hang = (subscriptions: number, tenant?: string): Slot[] => {
    const { tenant: owner } = newTarget(tenant);
    return Array.from({ length: subscriptions }, () => slots.take(newTarget(owner))).flat();
  };
  const succeeded = (tenant?: string): Target => {
    const target = newTarget(tenant);
    slots.record(target.subscription, false);
    return target;
  };

  it('are free again when they are left, once each', () => {
    const [one] = hang(2, 'a tenant');
    for (const _ of ['first', 'second']) one?.leave();
    expect(slots.inFlightOf('a tenant')).toBe(1);
  });

  it('are there for each subscription that a tenant may have, and no more than there are deliveries', () => {
    expect(hang(100)).toHaveLength(100);
    expect(slots.take(succeeded(), 3)).toHaveLength(3);
  });

  it.each([1, 5, 60])('are left to good subscriptions by %d tenants whose others all hang', (tenants) => {
    const { tenant } = newTarget();
    for (let i = 1; i < tenants; i++) hang(100);
    hang(100, tenant);
    expect(slots.take(succeeded(tenant))).toHaveLength(8);
    expect(slots.take(succeeded())).toHaveLength(8);
  });

  it.each([1, 3, 6])('are left to another tenant by %d whose subscriptions are all busy', (tenants) => {
    for (let i = 0; i < tenants; i++) {
      const { tenant } = newTarget();
      for (let n = 0; n < 100; n++) slots.take(succeeded(tenant));
    }
    expect(slots.take(succeeded()).length).toBeGreaterThan(0);
    expect(slots.take(newTarget())).toHaveLength(1);
  });

  it('remember a limited number of subscriptions, the latest', () => {
    const all = Array.from({ length: 10_001 }, () => succeeded());
    const rooms = [all[0], all[1], all.at(-1)].map((one) => slots.take(one ?? newTarget()).length);
    expect(rooms).toEqual([1, 8, 8]);
  });
});
