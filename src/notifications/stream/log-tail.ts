import { Logger } from '@nestjs/common';
import type { EventLog } from '../log/event-log.js';
import type { EventRecord } from '../log/event-record.schema.js';

/** Maximum number of events that are read at a time. */
const PAGE = 100;

/** Who is told what a tail reads. */
export interface TailReader {
  /** The tenants whose events are wanted; undefined for all. */
  tenants(): readonly string[] | undefined;
  /** Takes the events that follow; the next are read when it resolves. */
  take(events: readonly EventRecord[]): Promise<void>;
  /** The log ends before what was read of it: another database stands in its place. */
  restart(head: number): void;
}

/**
 * Reads the log from its present end on, each time that it is woken. Places in the log are dense and become visible in their
 * order, so that whoever has read up to one has missed nothing before it.
 */
export class LogTail {
  private readonly logger = new Logger('EventFeed');
  private position = 0;
  private begun = false;
  private reading = false;
  private woken = false;
  private failing = false;
  private closed = false;

  constructor(
    private readonly log: EventLog,
    private readonly reader: TailReader,
  ) {}

  /** Finds the end of the log; what is appended after it has resolved will be read. */
  async begin(): Promise<void> {
    this.position = await this.log.head();
    this.begun = true;
    this.wake();
  }

  /** Has the log read: now, or again after the present read. */
  wake(): void {
    this.woken = true;
    if (this.reading || !this.begun) return;
    void this.readOn();
  }

  close(): void {
    this.closed = true;
  }

  private async readOn(): Promise<void> {
    this.reading = true;
    while (this.woken && !this.closed) {
      this.woken = false;
      try {
        await this.advance();
        this.failing = false;
      } catch (error) {
        // The place is kept: the next wake-up goes on from it.
        if (!this.failing && !this.closed)
          this.logger.warn({ error }, 'The log of events cannot be read; trying on');
        this.failing = true;
      }
    }
    this.reading = false;
  }

  private async advance(): Promise<void> {
    const head = await this.log.head();
    if (head < this.position) {
      this.position = head;
      this.reader.restart(head);
    }
    while (this.position < head && !this.closed) {
      const events = await this.log.read(this.position, { tenants: this.reader.tenants(), limit: PAGE });
      await this.reader.take(events);
      const last = events.length < PAGE ? head : (events.at(-1)?.seq ?? head);
      // No further than the end that was seen before: a tenant that joins during the read is told what comes after that.
      this.position = Math.min(head, last);
    }
  }
}
