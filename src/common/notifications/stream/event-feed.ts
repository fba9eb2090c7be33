import { Logger } from '@nestjs/common';
import { pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import type { EventLog } from '../log/event-log.js';
import type { EventStream } from './event-stream.js';

/** Maximum number of new events whose tenants are looked up; beyond, all streams are woken. */
const MAX_LOOKED_UP = 1_000;

/**
 * Watches the log for all streams of this process, while there are any, and wakes those whose tenants have new events.
 * Appends of this process are seen at once.
 */
export class EventFeed {
  private readonly logger = new Logger('EventFeed');
  private readonly streams = new Map<string, Set<EventStream>>();
  private waking = new AbortController();
  private isWatching = false;

  constructor(
    private readonly log: EventLog,
    private readonly pollMs: number,
  ) {
    log.appended.subscribe(() => this.waking.abort());
  }

  /** Wakes a stream whenever its tenant has new events. @returns a function to call once the stream has ended */
  follow(tenant: string, stream: EventStream): () => void {
    const ofTenant = this.streams.get(tenant) ?? new Set();
    this.streams.set(tenant, ofTenant.add(stream));
    if (!this.isWatching) void this.watch();
    return () => {
      ofTenant.delete(stream);
      if (ofTenant.size === 0) this.streams.delete(tenant);
      if (this.streams.size === 0) this.waking.abort();
    };
  }

  private async watch(): Promise<void> {
    this.isWatching = true;
    // The first look wakes all streams, which may have read before it.
    let position = -Infinity;
    while (this.streams.size > 0) {
      this.waking = new AbortController();
      try {
        position = await this.wakeAfter(position);
      } catch (error) {
        this.logger.warn({ ...OUTAGE, error }, 'The log of events cannot be read; trying on');
      }
      if (this.streams.size > 0) await pause(this.pollMs, this.waking.signal);
    }
    this.isWatching = false;
  }

  /** Wakes the streams of the events after a position. @returns the end of the log */
  private async wakeAfter(start: number): Promise<number> {
    const head = await this.log.head();
    // Positions in another log mean nothing: its clients have to begin anew.
    if (head < start)
      for (const ofTenant of this.streams.values())
        for (const stream of ofTenant) stream.end('the log of events was replaced');
    if (head <= start) return head;
    const areMany = head - start > MAX_LOOKED_UP;
    const tenants = areMany ? this.streams.keys() : await this.log.tenantsOf({ after: start, upTo: head });
    for (const tenant of tenants) for (const stream of this.streams.get(tenant) ?? []) stream.wake();
    return head;
  }
}
