import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Outboxes } from '../crud/index.js';
import { OUTAGE } from '../errors/index.js';
import { type EntityEvent, OnEntityEvent } from '../events/index.js';
import { eventTypeOf } from './log/event-log.js';
import { EventRecorder } from './log/event-recorder.js';

type PostEvent = EntityEvent<{ readonly _id: string }>;

/** Maximum number of events that wait to be recorded, each with its record; the sweep records any others. */
export const MAX_WAITING = 500;

/**
 * Records the events of posts as soon as they happen. No request waits for that. Events that it fails to
 * record, or has no room for, are in the outbox, where the sweep finds them.
 */
@Injectable()
export class NotificationListener implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Notifications');
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly recorder: EventRecorder,
    private readonly outboxes: Outboxes,
  ) {}

  @OnEntityEvent('posts', 'afterCreate')
  onPostCreated(event: PostEvent): void {
    this.record(event);
    const { id, tenant, record } = event;
    // Only identifiers: the content of a post does not belong in the log.
    this.logger.log({ type: eventTypeOf(event), event: id, tenant, post: record._id }, 'New post');
  }

  @OnEntityEvent('posts', 'afterUpdate')
  onPostUpdated(event: PostEvent): void {
    this.record(event);
  }

  /** Records and settles waiting events while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.running);
  }

  private record(event: PostEvent): void {
    if (this.running.size >= MAX_WAITING) return;
    const done = this.recordAndSettle(event)
      .catch((error: unknown) =>
        this.logger.warn({ ...OUTAGE, error, event: event.id }, 'An event waits for the sweep'),
      )
      .finally(() => this.running.delete(done));
    this.running.add(done);
  }

  private async recordAndSettle(event: PostEvent): Promise<void> {
    await this.recorder.record([event]);
    await this.outboxes.of(event.resource)?.settle([event]);
  }
}
