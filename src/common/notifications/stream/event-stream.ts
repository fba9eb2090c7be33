import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventRecord } from '../log/event-log.js';
import type { Follower, StreamOptions } from './event-feed.js';
import { commentFrame, EventBatch } from './event-frames.js';

/** Number of events on the first page for a client; the size of later pages follows {@link PAGE_BYTES}. */
const FIRST_PAGE = 10;
const MAX_PAGE = 200;
/** Approximate maximum size of a page, since each client that catches up holds one. Unit: bytes. */
const PAGE_BYTES = 524_288;
/** A larger burst is left in the log, and the client reads it from there at its own pace. Unit: bytes. */
const BURST_BYTES = 524_288;
/** How long to wait before reading the log again after a failure. Unit: milliseconds. */
const RETRY_MS = 1_000;

const HEARTBEAT = Buffer.from(commentFrame('heartbeat'));

/**
 * The stream of one client: events of the log, followed without gaps or repeats by those of the feed. Little
 * data waits in memory for the client: if it does not keep up, it is disconnected, and can resume.
 */
export class EventStream implements Follower {
  /** Events of the feed that arrive while older ones are read from the log; undefined once the client is up to date. */
  private held?: EventBatch[] = [];
  private heldBytes = 0;
  /** Whether more events arrived than could be held, so that the log has to be read again. */
  private overflowed = false;
  /** When the client stopped taking all the data that waits for it. Unit: milliseconds. */
  private stalledSince?: number;
  private onFlow?: () => void;

  /**
   * @param position in the log up to which the client has the events
   * @param types of the events to send, such as `posts.created` and `orders.*`; undefined for all
   * @param read reads the tenant's events after a position in the log
   */
  constructor(
    private readonly response: ServerResponse,
    private position: number,
    private readonly types: readonly string[] | undefined,
    private readonly read: (after: number, limit: number) => Promise<EventRecord[]>,
    private readonly limits: Pick<StreamOptions, 'maxWaitingBytes' | 'maxStallMs'>,
  ) {
    const flow = () => {
      this.stalledSince = undefined;
      this.onFlow?.();
    };
    // A client that goes away in the middle of a write is not a fault.
    response.on('drain', flow).on('close', flow).on('error', flow);
  }

  /** Whether nothing more can be sent. */
  get ended(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }

  /** Sends the opening and the log's events after the position, then switches to the feed. */
  begin(opening: string): Promise<void> {
    this.write(opening);
    return this.catchUp();
  }

  take(batch: EventBatch): void {
    if (this.held) return this.hold(batch, this.held);
    const isBurst = batch.bytes.length > BURST_BYTES && this.stalledSince === undefined;
    if (!isBurst) return this.send(batch);
    this.held = [];
    void this.catchUp();
  }

  restart(head: number): void {
    this.position = head;
  }

  /**
   * Keeps the connection alive, unless data is already waiting. Disconnects a client that has not taken any
   * for long.
   */
  beat(): void {
    if (this.stalledSince === undefined) this.write(HEARTBEAT);
    else if (performance.now() - this.stalledSince > this.limits.maxStallMs) this.response.destroy();
  }

  /** Ends the stream properly, with a comment that gives the reason. */
  end(reason: string): void {
    if (!this.ended) this.response.end(commentFrame(reason));
  }

  private hold(batch: EventBatch, held: EventBatch[]): void {
    this.heldBytes += batch.bytes.length;
    if (this.heldBytes <= BURST_BYTES) held.push(batch);
    else this.overflowed = true;
  }

  /** Sends the log's events as fast as the client takes them, then the events held meanwhile. */
  private async catchUp(): Promise<void> {
    do {
      // The log contains everything that was passed on before it is read.
      this.held = [];
      this.heldBytes = 0;
      this.overflowed = false;
      await this.sendLog();
    } while (this.overflowed && !this.ended);
    const { held } = this;
    this.held = undefined;
    for (const batch of held) this.send(batch);
  }

  private async sendLog(): Promise<void> {
    let limit = FIRST_PAGE;
    while (!this.ended) {
      const events = await this.tryRead(limit);
      if (!events) continue;
      let bytes = 0;
      // One by one: the client is cut off if too much waits for it.
      for (const event of events) {
        if (this.ended) return;
        const batch = new EventBatch([event]);
        this.send(batch);
        bytes += batch.bytes.length;
        await this.flowing();
      }
      if (events.length < limit) return;
      limit = pageAfter(bytes / limit);
    }
  }

  /** A page; undefined after a failure, and a pause. */
  private async tryRead(limit: number): Promise<EventRecord[] | undefined> {
    try {
      return await this.read(this.position, limit);
    } catch {
      // The feed logs that the log cannot be read.
      await pause(RETRY_MS, undefined, { ref: false });
      return undefined;
    }
  }

  private send(batch: EventBatch): void {
    const news = batch.after(this.position);
    if (!news) return;
    this.position = news.last;
    const bytes = news.bytesOf(this.types);
    if (bytes.length > 0) this.write(bytes);
  }

  private write(data: string | Buffer): void {
    if (this.ended) return;
    const flows = this.response.write(data);
    if (this.response.writableLength > this.limits.maxWaitingBytes) this.response.destroy();
    else if (!flows) this.stalledSince ??= performance.now();
  }

  /** Resolves when the client has taken all waiting data, or has gone away. */
  private async flowing(): Promise<void> {
    if (this.stalledSince === undefined || this.ended) return;
    await new Promise<void>((resolve) => (this.onFlow = resolve));
  }
}

/** Size of the next page, based on the average size of an event. Unit: events. */
function pageAfter(eventBytes: number): number {
  return Math.min(Math.max(Math.floor(PAGE_BYTES / eventBytes), 1), MAX_PAGE);
}
