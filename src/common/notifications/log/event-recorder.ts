import { Injectable } from '@nestjs/common';
import { Types } from 'mongoose';
import { Batches } from '../../database/index.js';
import type { EntityEvent } from '../../events/index.js';
import { NotificationCounters } from '../metrics/notification-metrics.js';
import { EventLog, type NewEvent, eventTypeOf } from './event-log.js';
import { FanOut } from './fan-out.js';

/** Maximum number of events to record together. */
const MAX_BATCH = 200;

/** Makes events durable: each is stored in the log, and its deliveries are announced. */
@Injectable()
export class EventRecorder {
  private readonly recording = new Batches<NewEvent, unknown>((events) => this.recordAll(events), {
    max: MAX_BATCH,
  });

  constructor(
    private readonly log: EventLog,
    private readonly fanOut: FanOut,
    private readonly counters: NotificationCounters,
  ) {}

  /**
   * Records events. Those that are already recorded are not changed, so a failed call can be repeated. Once
   * it has resolved, the events can be settled.
   */
  async record(events: readonly EntityEvent[]): Promise<void> {
    await Promise.all(events.flatMap(newEventOf).map((event) => this.recording.add(event)));
  }

  private async recordAll(events: readonly NewEvent[]): Promise<unknown[]> {
    const recorded = await this.log.append(events);
    await this.fanOut.announce(recorded);
    this.counters.eventsRecorded(recorded.length);
    return [];
  }
}

/** An event as the log stores it; none if it belongs to no tenant, since nobody would get it. */
function newEventOf(event: EntityEvent): NewEvent[] {
  // The owner of the record, whoever wrote it.
  const { tenant = event.tenant } = event.record as { tenant?: unknown };
  if (event.id === undefined || !Types.ObjectId.isValid(String(tenant))) return [];
  const type = eventTypeOf(event);
  const body = JSON.stringify({ type, timestamp: event.time, data: event.record });
  return [{ _id: event.id, tenant: String(tenant), type, at: new Date(event.time), body }];
}
