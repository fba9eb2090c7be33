import { Logger } from '@nestjs/common';
import type { Model } from 'mongoose';
import { pause } from '../../common/database/index.js';
import type { EventRecord } from '../log/event-record.schema.js';

/**
 * How long to wait before retrying a failed change stream; meanwhile, the log is polled. Unit: milliseconds.
 */
const RETRY_MS = 30_000;
/**
 * How long the server waits for a change before it answers that there is none; well below the socket's
 * time-out. Unit: milliseconds.
 */
const WAIT_MS = 1_000;

/**
 * Notices that some process has appended to the log, through a change stream if the deployment has them. It
 * only wakes the readers of the log, who go by positions, so it may miss changes and needs no resume token.
 */
export class AppendWatch {
  private readonly logger = new Logger('EventFeed');
  private readonly closing = new AbortController();
  private tells = false;

  constructor(
    private readonly events: Model<EventRecord>,
    private readonly onChange: () => void,
  ) {
    void this.keepWatching(this.closing.signal);
  }

  /** Whether changes are being reported now. */
  get active(): boolean {
    return this.tells;
  }

  close(): void {
    this.closing.abort();
  }

  private async keepWatching(closing: AbortSignal): Promise<void> {
    while (!closing.aborted) {
      try {
        await this.watch(closing);
      } catch (error) {
        this.logger.debug({ reason: String(error) }, 'No change stream; polling the log of events');
      }
      this.tells = false;
      await pause(RETRY_MS, closing);
    }
  }

  private async watch(closing: AbortSignal): Promise<void> {
    const inserts = [{ $match: { operationType: 'insert' } }, { $project: { _id: 1 } }];
    const changes = this.events.collection.watch(inserts, { maxAwaitTimeMS: WAIT_MS });
    const end = () => void changes.close().catch(() => undefined);
    closing.addEventListener('abort', end, { once: true });
    try {
      while (!closing.aborted) {
        const change = await changes.tryNext();
        // Appends before the stream was open have not been reported to anyone.
        if (change || !this.tells) this.onChange();
        this.tells = true;
      }
    } finally {
      closing.removeEventListener('abort', end);
      end();
    }
  }
}
