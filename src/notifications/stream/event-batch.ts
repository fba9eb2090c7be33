import type { EventRecord } from '../log/event-record.schema.js';
import { eventFrame } from './event-frames.js';

/** Events of one tenant, in order, as bytes that all of its streams share. */
export class EventBatch {
  readonly bytes: Buffer;

  /** @param events at least one */
  constructor(private readonly events: readonly EventRecord[]) {
    this.bytes = Buffer.from(events.map(eventFrame).join(''));
  }

  get first(): number {
    return this.events[0]?.seq ?? 0;
  }

  get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The events after a position in the log; undefined if there are none. */
  after(seq: number): EventBatch | undefined {
    if (seq < this.first) return this;
    const rest = this.events.filter((event) => event.seq > seq);
    return rest.length > 0 ? new EventBatch(rest) : undefined;
  }
}
