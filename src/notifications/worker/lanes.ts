import type { Types } from 'mongoose';
import type { DueDelivery } from '../deliveries/delivery-queue.js';

/**
 * How long a failure is remembered: longer than any delivery waits for its next attempt, so that by then
 * nothing of the subscription, which may have been deleted, is due. Unit: milliseconds.
 */
const REMEMBERED_MS = 27 * 60 * 60 * 1_000;

/** Maximum number of deliveries that a worker attempts at a time. */
export interface LaneLimits {
  /** Per subscription. */
  readonly perSubscription: number;
  /** Per tenant. */
  readonly perTenant: number;
  /** For all subscriptions together whose last attempt failed. */
  readonly failing: number;
  readonly total: number;
}

/** The subscription and tenant that a place is for. */
export interface Lane {
  readonly subscription: Types.ObjectId;
  /** Undefined if it is not known yet. */
  readonly tenant?: Types.ObjectId;
}

/**
 * The places for deliveries in flight, shared so that no subscription and no tenant delays others. A
 * subscription whose last attempt failed has one place until an attempt succeeds: an endpoint that hangs
 * would otherwise occupy several for seconds.
 */
export class Lanes {
  private readonly ofSubscription = new Counter();
  private readonly ofTenant = new Counter();
  /** When the last attempt of each failing subscription ended, oldest first. Unit: milliseconds. */
  private readonly failing = new Map<string, number>();
  private failingInFlight = 0;
  /** The deliveries in flight, and whether each uses a place for failing ones. */
  private readonly taken = new Map<string, boolean>();

  constructor(private readonly limits: LaneLimits) {}

  /** Number of deliveries in flight. */
  get inFlight(): number {
    return this.taken.size;
  }

  get isFull(): boolean {
    return this.inFlight >= this.limits.total;
  }

  /** How many more deliveries may be in flight. */
  roomOf({ subscription, tenant }: Lane): number {
    const isFailing = this.failing.has(String(subscription));
    return Math.max(
      0,
      Math.min(
        (isFailing ? 1 : this.limits.perSubscription) - this.ofSubscription.get(subscription),
        isFailing ? this.limits.failing - this.failingInFlight : Infinity,
        tenant ? this.limits.perTenant - this.ofTenant.get(tenant) : Infinity,
        this.limits.total - this.inFlight,
      ),
    );
  }

  /** Takes a place for a delivery; returns false if there is none, or if the delivery already has one. */
  take({ _id, subscription, tenant }: DueDelivery): boolean {
    if (this.taken.has(String(_id)) || this.roomOf({ subscription, tenant }) === 0) return false;
    const isFailing = this.failing.has(String(subscription));
    this.taken.set(String(_id), isFailing);
    this.ofSubscription.add(subscription, 1);
    this.ofTenant.add(tenant, 1);
    if (isFailing) this.failingInFlight++;
    return true;
  }

  /** Releases the place of a delivery, if it has one. */
  leave({ _id, subscription, tenant }: DueDelivery): void {
    const isFailing = this.taken.get(String(_id));
    if (isFailing === undefined) return;
    if (isFailing) this.failingInFlight--;
    this.taken.delete(String(_id));
    this.ofSubscription.add(subscription, -1);
    this.ofTenant.add(tenant, -1);
  }

  /** Remembers how the last attempt of a subscription ended. */
  record({ subscription }: Lane, hasFailed: boolean): void {
    const now = Date.now();
    // Removed first, so that it moves to the end.
    this.failing.delete(String(subscription));
    if (hasFailed) this.failing.set(String(subscription), now);
    for (const [id, failedAt] of this.failing) {
      if (now - failedAt < REMEMBERED_MS) break;
      this.failing.delete(id);
    }
  }
}

/** Counts by identifier, ignoring items without one. */
class Counter {
  private readonly counts = new Map<string, number>();

  get(id: Types.ObjectId): number {
    return this.counts.get(String(id)) ?? 0;
  }

  add(id: Types.ObjectId, change: number): void {
    const count = this.get(id) + change;
    if (count === 0) this.counts.delete(String(id));
    else this.counts.set(String(id), count);
  }
}
