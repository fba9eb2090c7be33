/** Maximum number of subscriptions to remember whose last attempt succeeded. */
const MAX_PROVEN = 10_000;

/** Maximum number of deliveries that a worker attempts at a time. */
const LIMITS = {
  /** For a subscription whose last attempt succeeded; another one has a single slot. */
  perSubscription: 8,
  /** For all subscriptions whose last attempt succeeded. */
  proven: 160,
  /** For all others: at least two for each subscription that a tenant may have, so that each has its slot. */
  unproven: 240,
};

/** The identifiers of a subscription and of its tenant. */
export interface Target {
  readonly subscription: string;
  readonly tenant: string;
}

/** A permit for one delivery in flight. */
export interface Slot {
  /** Releases the slot; does nothing the second time. */
  leave(): void;
}

/**
 * The slots for deliveries in flight, shared so that no subscription and no tenant delays others. A subscription has one
 * until an attempt has succeeded, from a group of their own: however many endpoints hang, others are served. In both
 * groups a tenant may use as many slots as it leaves free.
 */
export class Slots {
  /** Subscriptions whose last attempt succeeded, the latest last. */
  private readonly proven = new Set<string>();
  /** Number of slots in use by subscription, by tenant, by group, and by tenant and group. */
  private readonly used = new Map<string, number>();

  constructor(readonly limits = LIMITS) {}

  /** Number of deliveries of a tenant in flight. */
  inFlightOf(tenant: string): number {
    return this.used.get(tenant) ?? 0;
  }

  /** Takes the slots that a subscription may have in addition to those it has, `max` at most. */
  take({ subscription, tenant }: Target, max = Infinity): Slot[] {
    const group = this.proven.has(subscription) ? 'proven' : 'unproven';
    const ofTenant = `${group} ${tenant}`;
    const own = (group === 'proven' ? this.limits.perSubscription : 1) - (this.used.get(subscription) ?? 0);
    const free = this.limits[group] - (this.used.get(group) ?? 0);
    // Each slot that is taken leaves one less to take.
    const share = Math.ceil((free - (this.used.get(ofTenant) ?? 0)) / 2);
    const count = Math.max(0, Math.min(own, share, max));
    return Array.from({ length: count }, () => this.slot([subscription, tenant, group, ofTenant]));
  }

  /** Remembers how the last attempt of a subscription ended. */
  record(subscription: string, hasFailed: boolean): void {
    // Removed first, so that it moves to the end.
    this.proven.delete(subscription);
    if (!hasFailed) this.proven.add(subscription);
    const [oldest] = this.proven;
    if (oldest !== undefined && this.proven.size > MAX_PROVEN) this.proven.delete(oldest);
  }

  private slot(users: readonly string[]): Slot {
    this.count(users, 1);
    let isTaken = true;
    const leave = () => {
      if (isTaken) this.count(users, -1);
      isTaken = false;
    };
    return { leave };
  }

  private count(users: readonly string[], change: 1 | -1): void {
    for (const user of users) {
      const count = (this.used.get(user) ?? 0) + change;
      if (count > 0) this.used.set(user, count);
      else this.used.delete(user);
    }
  }
}
