import { setMaxListeners } from 'node:events';
import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Database, pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { type AttemptOutcome, type ClaimedDelivery, DeliveryQueue } from '../deliveries/delivery-queue.js';
import { EventLog } from '../log/event-log.js';
import { NotificationMetrics } from '../notification-metrics.js';
import { type Receiver, Receivers, secretsOf } from '../subscriptions/receivers.js';
import { WebhookSender } from '../webhooks/webhook-sender.js';
import { DueDeliveries, type Placed } from './due-deliveries.js';
import { type Slot, Slots } from './slots.js';

/** How often to look for the deliveries of other processes. Unit: milliseconds. */
const POLL_MS = 200;

/** How soon to retry a failed command. Unit: milliseconds. */
const AGAIN_MS = 500;

/** How long running attempts may take when the process stops. Unit: milliseconds. */
const DRAIN_MS = 5_000;

const GONE = 410;

/** Makes the deliveries that are due. Any number of workers may run. */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('DeliveryWorker');
  private readonly slots = new Slots();
  private readonly due: DueDeliveries;
  private readonly running = new Set<Promise<void>>();
  /** Aborted when no more deliveries may be claimed. */
  private readonly stopping = new AbortController();
  /** Aborted when running attempts must end, and what cannot be stored is not tried again. */
  private readonly cuttingOff = new AbortController();
  private waking = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly queue: DeliveryQueue,
    private readonly log: EventLog,
    private readonly receivers: Receivers,
    private readonly sender: WebhookSender,
    private readonly database: Database,
    private readonly metrics: NotificationMetrics,
  ) {
    this.due = new DueDeliveries(queue, this.slots, receivers);
    queue.added.subscribe(() => this.waking.abort());
    // Each running attempt adds a listener.
    setMaxListeners(0, this.cuttingOff.signal);
  }

  onApplicationBootstrap(): void {
    this.database.inBackground('The delivery worker', () => (this.loop = this.run()));
  }

  // Before the database is closed.
  beforeApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  /** Stops claiming, waits up to 5 s for running attempts, and returns the unfinished ones to the queue. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.waking.abort();
    await this.loop;
    const cutOff = setTimeout(() => this.cuttingOff.abort(), DRAIN_MS);
    await Promise.all(this.running);
    clearTimeout(cutOff);
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.waking = new AbortController();
      try {
        const claimed = await this.due.claim();
        if (claimed.length > 0) await this.attemptAll(claimed);
        // If it was woken meanwhile, the signal is already aborted.
        else await pause(POLL_MS, this.waking.signal);
      } catch (error) {
        this.logger.warn({ ...OUTAGE, error }, 'Deliveries cannot be claimed; trying again');
        await pause(AGAIN_MS, this.stopping.signal);
      }
    }
  }

  /** Starts the attempts of a batch, or returns it to the queue; resolves as soon as they have started. */
  private async attemptAll(claimed: readonly Placed<ClaimedDelivery>[]): Promise<void> {
    try {
      const [receivers, events] = await Promise.all([
        this.receivers.find(claimed.map(({ delivery }) => delivery.subscription)),
        this.log.findAll(claimed.map(({ delivery }) => delivery.event)),
      ]);
      const bodies = new Map(events.map(({ _id, body }) => [_id, body]));
      for (const placed of claimed) {
        const { subscription, event } = placed.delivery;
        this.begin(placed, this.attempt(placed, receivers.get(String(subscription)), bodies.get(event)));
      }
    } catch (error) {
      for (const placed of claimed) this.begin(placed, this.release(placed.delivery));
      throw error;
    }
  }

  private begin({ delivery, slot }: Placed<ClaimedDelivery>, work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => this.logger.error({ error, delivery: delivery._id }, 'An attempt broke off'))
      .finally(() => {
        this.running.delete(done);
        this.leave(slot);
      });
    this.running.add(done);
  }

  private leave(slot: Slot): void {
    slot.leave();
    if (this.due.isWaiting) this.waking.abort();
  }

  private async attempt(
    { delivery, slot }: Placed<ClaimedDelivery>,
    receiver?: Receiver,
    body?: string,
  ): Promise<void> {
    const at = new Date();
    const subscription = String(delivery.subscription);
    if (!receiver) {
      this.slots.record(subscription, false);
      return this.write(delivery, () => this.queue.remove(delivery));
    }
    const end = (error: string) => this.finish(delivery, { at, error, final: true });
    if (!receiver.enabled) return end('The subscription is disabled.');
    if (body === undefined) return end('The event is no longer kept.');
    const message = { id: delivery.event, url: receiver.url, secrets: secretsOf(receiver), body };
    const result = await this.sender.send(message, this.cuttingOff.signal).catch(() => undefined);
    if (!result) return this.release(delivery);
    this.metrics.attempted(result);
    this.slots.record(subscription, result.error !== undefined);
    // The receiver is free again: storing the outcome does not involve it.
    this.leave(slot);
    const isGone = result.status === GONE;
    if (isGone) await this.write(delivery, () => this.receivers.disable(receiver));
    await this.finish(delivery, { at, ...result, final: isGone });
  }

  private release(delivery: ClaimedDelivery): Promise<void> {
    return this.write(delivery, () => this.queue.release(delivery));
  }

  private finish(delivery: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
    return this.write(delivery, () => this.queue.finish(delivery, outcome));
  }

  /** Retries a write until the lease ends: a sent message must not be sent again because the database was away. */
  private async write({ dueAt }: ClaimedDelivery, command: () => Promise<void>): Promise<void> {
    const { signal } = this.cuttingOff;
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (signal.aborted || Date.now() >= dueAt.getTime()) throw error;
        await pause(AGAIN_MS, signal);
      }
    }
  }
}
