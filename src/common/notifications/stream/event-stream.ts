import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isWanted } from '../event-types.js';
import type { EventRecord } from '../log/event-log.js';

/** Maximum number of events to read at a time: a client that does not read holds as many. */
export const PAGE = 10;

/** How long to wait before reading the log again after a failure. Unit: milliseconds. */
const RETRY_MS = 1_000;

/** An event of the log, as a client gets it. */
export interface Frame extends Pick<EventRecord, 'seq' | 'type'> {
  readonly bytes: Buffer;
}

/**
 * An event in the format of https://html.spec.whatwg.org/multipage/server-sent-events.html. Its body is one line: JSON
 * escapes line breaks, and the characters that it does not escape, such as U+2028, do not end a line there.
 */
export function frameOf({ _id, seq, type, body }: EventRecord): Frame {
  return { seq, type, bytes: Buffer.from(`id: ${_id}\nevent: ${type}\ndata: ${body}\n\n`) };
}

/**
 * The stream of one client, which reads the log in its order as fast as the client takes the events. So little
 * waits in memory, whatever the client does; one that takes nothing for long is disconnected, and can resume.
 */
export class EventStream {
  private hasNews = false;
  /** When the client stopped taking all the data that waits for it. Unit: milliseconds. */
  private stalledSince?: number;
  private onChange?: () => void;

  /**
   * @param position in the log up to which the client has the events
   * @param types of the events to send, such as `posts.created` and `orders.*`; undefined for all
   * @param read reads the tenant's next events after a position in the log, at most {@link PAGE}
   * @param maxStallMs how long the client may leave data waiting
   */
  constructor(
    private readonly response: ServerResponse,
    private position: number,
    private readonly types: readonly string[] | undefined,
    private readonly read: (after: number) => Promise<readonly Frame[]>,
    private readonly maxStallMs: number,
  ) {
    const flow = () => {
      this.stalledSince = undefined;
      this.onChange?.();
    };
    // A client that goes away in the middle of a write is not a fault.
    response.on('drain', flow).on('close', flow).on('error', flow);
  }

  /** Sends the opening, and then events until the stream ends. */
  async run(opening: string): Promise<void> {
    this.write(opening);
    while (!this.ended) {
      this.hasNews = false;
      // The feed logs that the log cannot be read.
      const frames = await this.read(this.position).catch(() => pause(RETRY_MS, undefined, { ref: false }));
      if (!frames) continue;
      for (const { seq, type, bytes } of frames) {
        if (!this.types || isWanted(type, this.types)) this.write(bytes);
        this.position = seq;
        await this.until(() => this.stalledSince === undefined);
      }
      if (frames.length < PAGE) await this.until(() => this.hasNews);
    }
  }

  /** The log may have new events of the tenant. */
  wake(): void {
    this.hasNews = true;
    this.onChange?.();
  }

  /** Keeps the connection alive, unless data is already waiting. Disconnects a client that leaves it for long. */
  beat(): void {
    if (this.stalledSince === undefined) this.write(': heartbeat\n\n');
    else if (performance.now() - this.stalledSince > this.maxStallMs) this.response.destroy();
  }

  /** Ends the stream, with a comment that gives the reason. */
  end(reason: string): void {
    if (!this.ended) this.response.end(`: ${reason}\n\n`);
    this.onChange?.();
  }

  /** Whether nothing more can be sent. */
  private get ended(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }

  private write(data: string | Buffer): void {
    if (!this.ended && !this.response.write(data)) this.stalledSince ??= performance.now();
  }

  /** Waits for news, for the client to take its data, or for the end of the stream. */
  private async until(isMet: () => boolean): Promise<void> {
    while (!isMet() && !this.ended) await new Promise<void>((resolve) => (this.onChange = resolve));
  }
}
