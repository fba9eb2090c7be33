import { Logger } from '@nestjs/common';
import { OUTAGE } from '../../errors/index.js';
import type { EventLog, EventRecord } from '../log/event-log.js';

/** Maximum number of events to read at a time. */
const PAGE = 100;

/** The reader of a tail's events. */
export interface TailReader {
  /** The tenants whose events are wanted; undefined for all tenants. */
  tenants(): readonly string[] | undefined;
  /** Takes the next events. More are read when it resolves. */
  take(events: readonly EventRecord[]): Promise<void>;
  /** The log ends before the last position read: another database has replaced the first one. */
  restart(head: number): void;
}

/**
 * Reads the log from its current end on, each time it is woken. Positions in the log have no gaps and become
 * visible in order, so a reader who has read up to one has missed nothing before it.
 */
export class LogTail {
  private readonly logger = new Logger('EventFeed');
  private position = 0;
  private begun = false;
  private reading = false;
  private woken = false;
  private closed = false;

  constructor(
    private readonly log: EventLog,
    private readonly reader: TailReader,
  ) {}

  /** Finds the end of the log. Events that are appended after this has resolved will be read. */
  async begin(): Promise<void> {
    this.position = await this.log.head();
    this.begun = true;
    this.wake();
  }

  /** Reads the log now, or again after the current read. */
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
      } catch (error) {
        // The position is kept: the next wake-up continues from it.
        if (!this.closed)
          this.logger.warn({ ...OUTAGE, error }, 'The log of events cannot be read; trying on');
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
      // Not beyond the end seen before: a tenant that joins during the read gets the events after that.
      this.position = Math.min(head, last);
    }
  }
}
