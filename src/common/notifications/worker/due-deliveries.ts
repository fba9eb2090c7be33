import { Logger } from '@nestjs/common';
import { Types } from 'mongoose';
import type { ClaimedDelivery, DeliveryQueue, DueDelivery } from '../deliveries/delivery-queue.js';
import type { Receivers } from '../subscriptions/receivers.js';
import type { Slot, Slots, Target } from './slots.js';

/** How far the clocks of processes may differ before a delivery waits for the next survey. Unit: milliseconds. */
const CLOCK_MARGIN_MS = 10_000;

/** How often all subscriptions are checked for due deliveries, whenever they became due. Unit: milliseconds. */
const SURVEY_MS = 60_000;

/** How soon a failed survey is repeated. Unit: milliseconds. */
const SURVEY_AGAIN_MS = 5_000;

/** Maximum number of waiting subscriptions to exclude by name when new deliveries are read. */
const MAX_NAMED = 10_000;

/** Maximum number of waiting subscriptions to read at a time. */
const MAX_READ = 50;

/** A delivery in a slot. */
export interface Placed<T extends DueDelivery> {
  readonly delivery: T;
  readonly slot: Slot;
}

/** Due deliveries of new subscriptions, by subscription: as many as may get a slot, and one more. */
type NewDeliveries = ReadonlyMap<string, readonly DueDelivery[]>;

/**
 * Finds due deliveries that have a slot, among those that have become due since the last round. A subscription with more
 * is remembered, and read separately when it has slots again: so a backlog is never read through, however long it is.
 * Tenants take turns, those with the fewest deliveries in flight first, and so do the subscriptions of a tenant.
 */
export class DueDeliveries {
  private readonly logger = new Logger('DeliveryWorker');
  /** Subscriptions with due deliveries, by identifier, those that have waited longest first. */
  private readonly waiting = new Map<string, Target>();
  private readUntil = Date.now();
  private surveyAt = 0;

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly slots: Slots,
    private readonly receivers: Receivers,
  ) {}

  /** Whether a free slot is being waited for. */
  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** Claims deliveries that have a slot. */
  async claim(): Promise<Placed<ClaimedDelivery>[]> {
    // Surveyed last: what a survey finds has waited anyway.
    const found = await this.readNew();
    await this.survey();
    const placed = await this.place(found);
    const claimed = new Map<string, ClaimedDelivery>();
    try {
      const all = await this.queue.claim(placed.map(({ delivery }) => delivery));
      for (const delivery of all) claimed.set(String(delivery._id), delivery);
    } finally {
      // Another worker was faster, or the database could not be reached: then they are still due.
      for (const { delivery, slot } of placed) {
        if (claimed.has(String(delivery._id))) continue;
        slot.leave();
        this.remember(targetOf(delivery));
      }
    }
    return placed.flatMap(({ delivery, slot }) => {
      const own = claimed.get(String(delivery._id));
      return own ? [{ delivery: own, slot }] : [];
    });
  }

  private async readNew(): Promise<NewDeliveries> {
    const started = Date.now();
    const found = new Map<string, DueDelivery[]>();
    const known = new Set(this.waiting.keys());
    const except = [...known].slice(0, MAX_NAMED).map((subscription) => new Types.ObjectId(subscription));
    for await (const delivery of this.queue.due(new Date(this.readUntil - CLOCK_MARGIN_MS), except)) {
      const target = targetOf(delivery);
      if (known.has(target.subscription)) continue;
      const due = found.get(target.subscription);
      if (!due) {
        found.set(target.subscription, [delivery]);
        this.remember(target);
      } else if (due.length <= this.slots.limits.perSubscription) due.push(delivery);
    }
    this.readUntil = started;
    return found;
  }

  /** Remembers what is due for other reasons. If it fails, again soon: known deliveries must not wait for it. */
  private async survey(): Promise<void> {
    if (Date.now() < this.surveyAt) return;
    this.surveyAt = Date.now() + SURVEY_AGAIN_MS;
    try {
      const subscriptions = await this.queue.subscriptionsWithDue();
      const receivers = await this.receivers.find(subscriptions);
      for (const subscription of subscriptions.map(String).filter((id) => !this.waiting.has(id))) {
        const tenant = String(receivers.get(subscription)?.tenant ?? 'of deleted subscriptions');
        this.remember({ subscription, tenant });
      }
      this.surveyAt = Date.now() + SURVEY_MS;
    } catch (error) {
      this.warn(error);
    }
  }

  /** Gives the slots to deliveries of the subscriptions whose turn it is. */
  private async place(found: NewDeliveries): Promise<Placed<DueDelivery>[]> {
    const placed: Promise<Placed<DueDelivery>[]>[] = [];
    let read = 0;
    for (const target of this.inTurns()) {
      const due = found.get(target.subscription);
      if (!due && read === MAX_READ) continue;
      const slots = this.slots.take(target, due?.length);
      if (slots.length === 0) continue;
      if (!due) read++;
      placed.push(this.fill(slots, target, due));
    }
    return (await Promise.all(placed)).flat();
  }

  /** Gives slots to the deliveries of a subscription, which are read unless they are known. */
  private async fill(
    slots: readonly Slot[],
    target: Target,
    known?: readonly DueDelivery[],
  ): Promise<Placed<DueDelivery>[]> {
    // One more than there are slots for tells that more are due.
    const read = () => this.queue.dueOf(new Types.ObjectId(target.subscription), slots.length + 1);
    const due = known ?? (await read().catch((error: unknown) => this.warn(error)));
    this.waiting.delete(target.subscription);
    // At the end of the line, so that all take turns.
    if (!due || due.length > slots.length) this.remember(target);
    for (const slot of slots.slice(due?.length ?? 0)) slot.leave();
    return slots.flatMap((slot, i) => (due?.[i] ? [{ delivery: due[i], slot }] : []));
  }

  /** The waiting subscriptions: one of each tenant, then the next of each. */
  private inTurns(): Target[] {
    const lines = new Map<string, Target[]>();
    for (const target of this.waiting.values()) {
      const line = lines.get(target.tenant) ?? [];
      line.push(target);
      // A tenant waits from when its last subscription began to wait.
      lines.delete(target.tenant);
      lines.set(target.tenant, line);
    }
    const inFlight = ([tenant]: readonly [string, unknown]) => this.slots.inFlightOf(tenant);
    const tenants = [...lines].sort((one, other) => inFlight(one) - inFlight(other));
    const turns = tenants.flatMap(([, line]) => line.map((target, turn) => ({ target, turn })));
    return turns.sort((one, other) => one.turn - other.turn).map(({ target }) => target);
  }

  private warn(error: unknown): undefined {
    this.logger.warn({ error }, 'Some due deliveries cannot be found; trying again');
  }

  /** Moves the subscription to the end of the line. */
  private remember(target: Target): void {
    this.waiting.delete(target.subscription);
    this.waiting.set(target.subscription, target);
  }
}

function targetOf({ subscription, tenant }: DueDelivery): Target {
  return { subscription: String(subscription), tenant: String(tenant) };
}
