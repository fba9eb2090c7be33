import { Logger } from '@nestjs/common';
import type { ClaimedDelivery, DeliveryQueue, DueDelivery } from '../deliveries/delivery-queue.js';
import type { Slots, Target } from './slots.js';

/** How far the clocks of processes may differ before a delivery waits for the next survey. Unit: milliseconds. */
const CLOCK_MARGIN_MS = 10_000;

/**
 * How often all subscriptions are checked for due deliveries, whenever they became due. Unit: milliseconds.
 */
const SURVEY_MS = 60_000;

/** How soon a failed survey is repeated. Unit: milliseconds. */
const SURVEY_AGAIN_MS = 5_000;

/** Maximum number of subscriptions with a backlog that are excluded by name when new deliveries are read. */
const MAX_NAMED = 500;

/** Maximum number of subscriptions with a backlog to read at a time. */
const MAX_ASKED = 50;

/**
 * Finds due deliveries that have a slot. Deliveries that have become due since the last round are read in
 * order. A subscription that has more due deliveries than slots is remembered, and read separately when it
 * has slots again. So the worker never reads through a backlog, however long it is.
 */
export class DueDeliveries {
  private readonly logger = new Logger('DeliveryWorker');
  private readonly backlogs = new Map<string, Target>();
  private readUntil = Date.now();
  private surveyAt = 0;

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly slots: Slots,
  ) {}

  /** Whether a free slot is being waited for. */
  get isWaiting(): boolean {
    return this.slots.areFull || this.backlogs.size > 0;
  }

  /** Claims deliveries that have a slot. */
  async claim(): Promise<ClaimedDelivery[]> {
    const chosen = new Map<string, DueDelivery>();
    try {
      // New deliveries come first: a backlog has waited anyway.
      await this.chooseNew(chosen);
      await this.survey();
      await this.chooseOfBacklogs(chosen);
      const claimed = await this.queue.claim([...chosen.values()]);
      for (const { _id } of claimed) chosen.delete(String(_id));
      return claimed;
    } finally {
      // Another worker was faster, or the database could not be reached: then they are still due.
      for (const delivery of chosen.values()) {
        this.slots.leave(delivery);
        this.remember(delivery);
      }
    }
  }

  private async chooseNew(chosen: Map<string, DueDelivery>): Promise<void> {
    const started = Date.now();
    const except = [...this.backlogs.values()].slice(0, MAX_NAMED).map(({ subscription }) => subscription);
    for await (const delivery of this.queue.due(new Date(this.readUntil - CLOCK_MARGIN_MS), { except })) {
      if (this.slots.areFull) return;
      this.choose(delivery, chosen);
    }
    this.readUntil = started;
  }

  /** Remembers what is due for other reasons. If it fails, again soon: known deliveries must not wait for it. */
  private async survey(): Promise<void> {
    if (Date.now() < this.surveyAt) return;
    this.surveyAt = Date.now() + SURVEY_AGAIN_MS;
    const found = await this.queue.subscriptionsWithDue().catch((error: unknown) => this.warn(error));
    if (found) this.surveyAt = Date.now() + SURVEY_MS;
    for (const subscription of found ?? []) this.remember({ subscription });
  }

  private async chooseOfBacklogs(chosen: Map<string, DueDelivery>): Promise<void> {
    const asked: [target: Target, room: number][] = [];
    const ofTenants = new Map<string, number>();
    let planned = 0;
    for (const target of this.backlogs.values()) {
      const ofTenant = ofTenants.get(String(target.tenant)) ?? 0;
      const room = this.slots.roomOf(target, planned, ofTenant);
      if (room > 0) asked.push([target, room]);
      ofTenants.set(String(target.tenant), ofTenant + room);
      planned += room;
      if (asked.length === MAX_ASKED) break;
    }
    // Chosen after all have been read: a slot taken for a claim that fails meanwhile would never be released.
    const read = await Promise.all(asked.map(([target, room]) => this.readOf(target, room, chosen)));
    for (const { target, due, goesOn, hasFailed } of read) {
      const waiting = due.filter(({ _id }) => !chosen.has(String(_id)));
      const served = waiting.filter((delivery) => this.choose(delivery, chosen));
      // Adding it again moves it to the end of the line, so that all take turns. Without a slot it has had none.
      if (hasFailed || waiting.length === 0 || served.length > 0)
        this.backlogs.delete(String(target.subscription));
      if (goesOn || served.length < waiting.length) this.remember(due[0] ?? target);
    }
  }

  private async readOf(target: Target, room: number, chosen: ReadonlyMap<string, DueDelivery>) {
    const { subscription } = target;
    const inHand = [...chosen.values()].filter((one) => one.subscription.equals(subscription)).length;
    // One more than there are slots tells whether the backlog continues, even if slots become free meanwhile.
    const limit = inHand + room + 1;
    const due = await this.queue.dueOf(subscription, limit).catch((error: unknown) => this.warn(error));
    const hasFailed = due === undefined;
    return { target, due: due ?? [], goesOn: hasFailed || due.length === limit, hasFailed };
  }

  /** Whether there is a slot for a delivery; otherwise it is remembered. */
  private choose(delivery: DueDelivery, chosen: Map<string, DueDelivery>): boolean {
    const hasSlot = this.slots.take(delivery);
    if (hasSlot) chosen.set(String(delivery._id), delivery);
    else this.remember(delivery);
    return hasSlot;
  }

  private warn(error: unknown): undefined {
    this.logger.warn({ error }, 'Some due deliveries cannot be found; trying again');
  }

  private remember({ subscription, tenant }: Target): void {
    this.backlogs.set(String(subscription), { subscription, tenant });
  }
}
