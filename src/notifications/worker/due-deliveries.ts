import type { ClaimedDelivery, DeliveryQueue, DueDelivery } from '../deliveries/delivery-queue.js';
import type { Lane, Lanes } from './lanes.js';

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
 * Finds due deliveries that have a place. Deliveries that have become due since the last round are read in
 * order. A subscription that has more due deliveries than places is remembered, and read separately when it
 * has places again. So the worker never reads through a backlog, however long it is.
 */
export class DueDeliveries {
  private readonly backlogs = new Map<string, Lane>();
  private readUntil = Date.now();
  private surveyAt = 0;

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly lanes: Lanes,
  ) {}

  /** Whether a free place is being waited for. */
  get isWaiting(): boolean {
    return this.lanes.isFull || this.backlogs.size > 0;
  }

  /** Claims deliveries that have a place. */
  async claim(): Promise<ClaimedDelivery[]> {
    const chosen = new Map<string, DueDelivery>();
    try {
      // New deliveries come first: a backlog has waited anyway.
      await this.chooseNew(chosen);
      await this.chooseOfBacklogs(chosen);
      const claimed = await this.queue.claim([...chosen.values()]);
      for (const { _id } of claimed) chosen.delete(String(_id));
      return claimed;
    } finally {
      // Another worker was faster, or the database could not be reached: then they are still due.
      for (const delivery of chosen.values()) {
        this.lanes.leave(delivery);
        this.remember(delivery);
      }
    }
  }

  private async chooseNew(chosen: Map<string, DueDelivery>): Promise<void> {
    const started = Date.now();
    const except = [...this.backlogs.values()].slice(0, MAX_NAMED).map(({ subscription }) => subscription);
    for await (const delivery of this.queue.due(new Date(this.readUntil - CLOCK_MARGIN_MS), { except })) {
      if (this.lanes.isFull) return;
      this.choose(delivery, chosen);
    }
    this.readUntil = started;
  }

  private async chooseOfBacklogs(chosen: Map<string, DueDelivery>): Promise<void> {
    if (Date.now() >= this.surveyAt) {
      // If it fails, again soon, but not at once: known deliveries must not wait for it.
      this.surveyAt = Date.now() + SURVEY_AGAIN_MS;
      for (const subscription of await this.queue.subscriptionsWithDue()) this.remember({ subscription });
      this.surveyAt = Date.now() + SURVEY_MS;
    }
    const lanes = [...this.backlogs.values()].filter((lane) => this.lanes.roomOf(lane) > 0);
    // Chosen after all have been read: a place taken for a claim that fails meanwhile would never be
    // released.
    const read = await Promise.all(lanes.slice(0, MAX_ASKED).map((lane) => this.readOf(lane, chosen)));
    for (const { lane, due, goesOn } of read) {
      // Adding it again moves it to the end of the line, so that all take turns.
      this.backlogs.delete(String(lane.subscription));
      for (const delivery of due) if (!chosen.has(String(delivery._id))) this.choose(delivery, chosen);
      if (goesOn) this.remember(lane);
    }
  }

  private async readOf(lane: Lane, chosen: ReadonlyMap<string, DueDelivery>) {
    const { subscription } = lane;
    const inHand = [...chosen.values()].filter((one) => one.subscription.equals(subscription)).length;
    // One more than there are places tells whether the backlog continues, even if places become free
    // meanwhile.
    const limit = inHand + this.lanes.roomOf({ subscription }) + 1;
    const due = await this.queue.dueOf(subscription, limit);
    return { lane, due, goesOn: due.length === limit };
  }

  private choose(delivery: DueDelivery, chosen: Map<string, DueDelivery>): void {
    if (this.lanes.take(delivery)) chosen.set(String(delivery._id), delivery);
    else this.remember(delivery);
  }

  private remember({ subscription, tenant }: Lane): void {
    this.backlogs.set(String(subscription), { subscription, tenant });
  }
}
