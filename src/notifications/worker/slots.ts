import type { Types } from 'mongoose';
import type { DueDelivery } from '../deliveries/delivery-queue.js';

/** Maximum number of subscriptions to remember whose last attempt succeeded. */
const MAX_TRUSTED = 10_000;

/** Maximum number of deliveries that a worker attempts at a time. */
export interface SlotLimits {
  /** For a subscription whose last attempt succeeded; another one has a single slot. */
  readonly perSubscription: number;
  /** At least three for each subscription that a tenant may have, so that one tenant leaves each its slot. */
  readonly total: number;
}

/** The subscription and tenant that a slot is for. */
export interface Target {
  readonly subscription: Types.ObjectId;
  /** Undefined if it is not known yet. */
  readonly tenant?: Types.ObjectId;
}

/**
 * The slots for deliveries in flight, shared so that no subscription and no tenant delays others. A subscription
 * has one slot until an attempt has succeeded: an endpoint that hangs would otherwise occupy several for
 * seconds. A tenant may use as many slots as are free, so that there are always some for the next one; half as
 * many for subscriptions without success, so that they leave slots to the good ones.
 */
export class Slots {
  /** Subscriptions whose last attempt succeeded, the latest last. */
  private readonly trusted = new Set<string>();
  /** The deliveries in flight, by identifier. */
  private readonly taken = new Map<string, DueDelivery>();

  constructor(private readonly limits: SlotLimits) {}

  /** Number of deliveries in flight. */
  get inFlight(): number {
    return this.taken.size;
  }

  get areFull(): boolean {
    return this.inFlight >= this.limits.total;
  }

  /**
   * How many more deliveries may be in flight.
   *
   * @param planned number of slots that others are about to take
   * @param ofTenant those of them for other subscriptions of the tenant
   */
  roomOf({ subscription, tenant }: Target, planned = 0, ofTenant = 0): number {
    let own = 0;
    for (const one of this.taken.values()) {
      if (one.subscription.equals(subscription)) own++;
      if (tenant && one.tenant.equals(tenant)) ofTenant++;
    }
    const free = this.limits.total - this.inFlight - planned;
    if (!this.trusted.has(String(subscription))) return own === 0 && 2 * ofTenant < free ? 1 : 0;
    // Each slot that is taken leaves one less to take.
    return Math.max(0, Math.min(this.limits.perSubscription - own, Math.ceil((free - ofTenant) / 2)));
  }

  /** Takes a slot for a delivery; returns false if there is none, or if the delivery already has one. */
  take(delivery: DueDelivery): boolean {
    if (this.taken.has(String(delivery._id)) || this.roomOf(delivery) === 0) return false;
    this.taken.set(String(delivery._id), delivery);
    return true;
  }

  /** Releases the slot of a delivery, if it has one. */
  leave({ _id }: DueDelivery): void {
    this.taken.delete(String(_id));
  }

  /** Remembers how the last attempt of a subscription ended. */
  record({ subscription }: Target, hasFailed: boolean): void {
    // Removed first, so that it moves to the end.
    this.trusted.delete(String(subscription));
    if (!hasFailed) this.trusted.add(String(subscription));
    const [oldest] = this.trusted;
    if (oldest !== undefined && this.trusted.size > MAX_TRUSTED) this.trusted.delete(oldest);
  }
}
