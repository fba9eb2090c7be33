import { Injectable, Logger } from '@nestjs/common';
import { type Outbox, Outboxes } from '../../crud/index.js';
import { Database, pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { NotificationCounters } from '../metrics/notification-metrics.js';
import { EventLog, NOTIFIED_RESOURCES } from './event-log.js';
import { EventRecorder } from './event-recorder.js';

/**
 * How often outboxes are checked, and the age at which an event counts as left behind. Unit: milliseconds.
 */
const SWEEP_MS = 2_000;

/** How often old events are removed. Unit: milliseconds. */
const TRIM_MS = 60 * 60 * 1_000;

/** How long events are kept: longer than their deliveries. Unit: milliseconds. */
const KEPT_MS = 31 * 24 * 60 * 60 * 1_000;

/** Number of records to read at a time. */
const BATCH = 100;

/**
 * Records the events that a killed process, or a failing database, has left in the outboxes, and removes old
 * events.
 */
@Injectable()
export class OutboxSweep {
  private readonly logger = new Logger('Notifications');
  private trimAt = 0;

  constructor(
    private readonly outboxes: Outboxes,
    private readonly recorder: EventRecorder,
    private readonly log: EventLog,
    private readonly counters: NotificationCounters,
    database: Database,
  ) {
    database.inBackground('Sweeping the outboxes', (stopping) => this.run(stopping));
  }

  private async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      try {
        for (const resource of NOTIFIED_RESOURCES) {
          const outbox = this.outboxes.of(resource);
          if (outbox) await this.sweep(outbox, stopping);
        }
        await this.trim();
      } catch (error) {
        if (!stopping.aborted)
          this.logger.warn({ ...OUTAGE, error }, 'Events wait in the outboxes; trying again');
      }
      await pause(SWEEP_MS, stopping);
    }
  }

  private async sweep(outbox: Outbox, stopping: AbortSignal): Promise<void> {
    let found = BATCH;
    while (found >= BATCH && !stopping.aborted) {
      const events = await outbox.pending(new Date(Date.now() - SWEEP_MS), BATCH);
      found = events.length;
      if (found === 0) return;
      await this.recorder.record(events);
      await outbox.settle(events);
      this.counters.eventsSwept(found);
      this.logger.log({ events: found }, 'Recorded events that were left behind');
    }
  }

  private async trim(): Promise<void> {
    if (Date.now() < this.trimAt) return;
    await this.log.removeBefore(new Date(Date.now() - KEPT_MS));
    this.trimAt = Date.now() + TRIM_MS;
  }
}
