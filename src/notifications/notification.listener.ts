import { Injectable, Logger } from '@nestjs/common';
import { Outboxes } from '../common/crud/index.js';
import { type EntityEvent, OnEntityEvent } from '../common/events/index.js';
import { eventTypeOf } from './event-types.js';
import { EventRecorder } from './log/event-recorder.js';

type PostEvent = EntityEvent<{ readonly _id: string }>;

/** Records what happens to posts as soon as it has happened; what it fails to record, the sweep does. */
@Injectable()
export class NotificationListener {
  private readonly logger = new Logger('Notifications');

  constructor(
    private readonly recorder: EventRecorder,
    private readonly outboxes: Outboxes,
  ) {}

  @OnEntityEvent('posts', 'afterCreate')
  async onPostCreated(event: PostEvent): Promise<void> {
    await this.record(event);
    const { id, tenant, record } = event;
    // Identifiers alone: what a post says is nobody's business here.
    this.logger.log({ type: eventTypeOf(event), event: id, tenant, post: record._id }, 'New post');
  }

  @OnEntityEvent('posts', 'afterUpdate')
  async onPostUpdated(event: PostEvent): Promise<void> {
    await this.record(event);
  }

  private async record(event: PostEvent): Promise<void> {
    await this.recorder.record([event]);
    // The request does not wait for it, and what fails is settled by the sweep.
    this.outboxes
      .of(event.resource)
      ?.settle([event])
      .catch(() => undefined);
  }
}
