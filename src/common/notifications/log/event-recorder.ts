import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { isObjectId } from '../../ids/index.js';
import type { Outbox } from '../../crud/index.js';
import { Batches, Database, pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { type EntityEvent, entityEventName } from '../../events/index.js';
import { FairShare, ownerAt } from '../../http/index.js';
import { EventTypes } from '../event-types.js';
import { NotificationMetrics } from '../notification-metrics.js';
import { EventLog, type NewEvent } from './event-log.js';
import { FanOut } from './fan-out.js';

/** Maximum number of events to record together. */
const MAX_BATCH = 200;

/** Maximum number of events that wait to be recorded, each with its record, and of those of a tenant; the sweep records any others. */
export const WAITING = { maxInAll: 500, maxPerClient: 250 };

/** How often an outbox is checked, and the age at which an event counts as left behind. Unit: milliseconds. */
const SWEEP_MS = 2_000;

/** Number of records to read at a time. */
const SWEPT_AT_ONCE = 100;

/** How often old events are removed. Unit: milliseconds. */
const TRIM_MS = 60 * 60 * 1_000;

/** How long events are kept: longer than their deliveries. Unit: milliseconds. */
const RETENTION_MS = 31 * 24 * 60 * 60 * 1_000;

/**
 * Makes events durable: each is stored in the log, announced to the fan-out, and settled, at once, without a request that
 * waits for it. Those that a killed process, a failing database or a burst has left in the outboxes are found by a sweep.
 */
@Injectable()
export class EventRecorder implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Notifications');
  private readonly recording = new Batches<NewEvent, unknown>((events) => this.append(events), {
    max: MAX_BATCH,
  });
  private readonly waiting = new FairShare(WAITING);
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly types: EventTypes,
    private readonly emitter: EventEmitter2,
    private readonly log: EventLog,
    private readonly fanOut: FanOut,
    private readonly metrics: NotificationMetrics,
    private readonly database: Database,
  ) {
    database.inBackground('Removing old events', (stopping) => this.trim(stopping));
  }

  onApplicationBootstrap(): void {
    for (const [resource, outbox] of this.types.outboxes) {
      // What is removed from an archive, subscribers were told of when it was archived.
      const removal = outbox.events.types.restore ? [] : (['afterDel'] as const);
      for (const hook of ['afterCreate', 'afterUpdate', ...removal] as const)
        this.emitter.on(entityEventName(resource, hook), (event: EntityEvent) => this.onEvent(outbox, event));
      this.database.inBackground(`Sweeping the outbox of ${resource}`, (stopping) =>
        this.sweep(outbox, stopping),
      );
    }
  }

  /** Records and settles waiting events while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Records events and settles them. A call that failed can be repeated. */
  async record(outbox: Outbox, events: readonly EntityEvent[]): Promise<void> {
    const recorded = events.flatMap((event) => this.newEventOf(outbox, event));
    await Promise.all(recorded.map((event) => this.recording.add(event)));
    await outbox.settle(events);
  }

  private onEvent(outbox: Outbox, event: EntityEvent): void {
    // The sweep knows the owner.
    if (event.owner === undefined) return;
    const owner = ownerAt('', event.owner);
    if (!this.waiting.isFree(owner)) return;
    const leave = this.waiting.hold(owner, () => undefined);
    const done = this.record(outbox, [event])
      .catch((error: unknown) =>
        this.logger.warn({ ...OUTAGE, error, event: event.id }, 'An event waits for the sweep'),
      )
      .finally(() => {
        leave();
        this.running.delete(done);
      });
    this.running.add(done);
  }

  /** An event as the log stores it; none if it belongs to no tenant, since nobody would get it. */
  private newEventOf({ events }: Outbox, event: EntityEvent): NewEvent[] {
    const { id, action, owner: tenant, record, time } = event;
    const type = events.types[action];
    if (id === undefined || type === undefined || !isObjectId(tenant)) return [];
    const { _id } = record as { _id: string };
    const data = events.data === 'id' ? { _id } : record;
    const body = JSON.stringify({ type, timestamp: time, data });
    return [{ _id: id, tenant, type, at: new Date(time), body }];
  }

  private async append(events: readonly NewEvent[]): Promise<unknown[]> {
    const recorded = await this.log.append(events);
    await this.fanOut.announce(recorded);
    this.metrics.recorded.inc(recorded.length);
    return [];
  }

  private async sweep(outbox: Outbox, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const events = await outbox.pending(new Date(Date.now() - SWEEP_MS), SWEPT_AT_ONCE);
      if (events.length > 0) {
        await this.record(outbox, events);
        this.metrics.swept.inc(events.length);
        this.logger.log({ events: events.length }, 'Recorded events that were left behind');
      }
      if (events.length < SWEPT_AT_ONCE) await pause(SWEEP_MS, stopping);
    }
  }

  private async trim(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.log.removeBefore(new Date(Date.now() - RETENTION_MS));
      await pause(TRIM_MS, stopping);
    }
  }
}
