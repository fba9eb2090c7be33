import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Batches } from '../../database/index.js';
import { ShuttingDownError, TooManyStreamsError, UnknownEventError } from '../../errors/index.js';
import { FairShare } from '../../http/index.js';
import { type HttpResponse, rawOf } from '../../request/index.js';
import { EventLog, type EventRecord } from '../log/event-log.js';
import { EventFeed, STREAM_OPTIONS, type StreamOptions } from './event-feed.js';
import { inTurns } from './event-frames.js';
import { EventStream } from './event-stream.js';

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Nginx would otherwise hold events back until a buffer is full.
  'X-Accel-Buffering': 'no',
  // The stream has the connection to itself, and the connection ends with it.
  Connection: 'close',
};

/** The request of a client. */
export interface StreamRequest {
  readonly tenant: string;
  /** `exp` of the token. Unit: seconds since the epoch. */
  readonly expires: number;
  /** Identifier of the last event that the client has; undefined if it only wants new events. */
  readonly lastEventId?: string;
  /** Types of the events to send; undefined for all. */
  readonly types?: readonly string[];
  /** Aborted when the server closes, which waits for its connections. */
  readonly closing: AbortSignal;
}

/** The `Last-Event-ID` of a tenant's position before its first event. */
function originOf(tenant: string): string {
  const digits = createHash('sha256').update(`events of ${tenant}`).digest('hex').slice(0, 24);
  return `evt_${digits}`;
}

/** The open streams of this process: their limits, heartbeats and ends. */
@Injectable()
export class EventStreams {
  /** Each with the time at which its token expires. Unit: seconds since the epoch. */
  private readonly streams = new Map<EventStream, number>();
  /** Includes streams that are being opened. */
  private readonly slots: FairShare;
  private heartbeat?: NodeJS.Timeout;
  private expiry?: NodeJS.Timeout;
  private closing?: AbortSignal;

  /** Reads of the log by streams that catch up: one of a tenant at a time, however many streams it has. */
  private readonly pages = new Batches<() => Promise<EventRecord[]>, EventRecord[]>(
    ([read]) => Promise.all(read ? [read()] : []),
    { max: 1 },
  );

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    @Inject(STREAM_OPTIONS) private readonly options: StreamOptions,
  ) {
    this.slots = new FairShare({ maxInAll: options.maxInAll, maxPerClient: options.maxPerTenant });
  }

  /**
   * Answers a request with a stream.
   *
   * @throws TooManyStreamsError, OverloadedError, ShuttingDownError if no other stream can be opened
   * @throws UnknownEventError if the tenant has no event with the identifier
   * @throws DatabaseUnavailableError, DatabaseTooSlowError if the log cannot be read
   */
  async open(request: StreamRequest, reply: HttpResponse): Promise<void> {
    const { tenant, expires, types, closing } = request;
    const response = rawOf(reply);
    this.watch(closing);
    const leaveSlot = this.slots.hold(
      { group: tenant, client: tenant },
      () => response.destroy(),
      (max) => new TooManyStreamsError('events', max),
    );
    // Also emitted after an error response.
    response.once('close', leaveSlot);
    const start = await this.startOf(request);
    const read = (after: number, limit: number) =>
      this.pages.add(() => this.log.read(after, { tenants: [tenant], limit }), tenant);
    const stream = new EventStream(response, start.seq, types, read, this.options);
    const leave = await this.feed.follow(tenant, stream);
    if (response.destroyed) return leave();
    if (closing.aborted) {
      leave();
      throw new ShuttingDownError();
    }
    response.once('close', () => {
      leave();
      this.remove(stream);
    });
    this.add(stream, expires);
    begin(reply);
    // Sets the client's last event identifier without an event, so that it can resume before its first one.
    await stream.begin(`: connected\nid: ${start.id}\n\n`);
  }

  /** Answers HEAD with the headers of a stream. */
  async head(request: StreamRequest, reply: HttpResponse): Promise<void> {
    await this.startOf(request);
    begin(reply);
    rawOf(reply).end();
  }

  /** Ends all streams when the server closes. */
  private watch(closing: AbortSignal): void {
    if (closing.aborted) throw new ShuttingDownError();
    if (this.closing === closing) return;
    this.closing = closing;
    closing.addEventListener('abort', () => {
      for (const stream of this.streams.keys()) stream.end('shutting down');
    });
  }

  /**
   * Where the stream begins: after the last event that the client has, or else after the newest one.
   *
   * @returns its position in the log, and the `Last-Event-ID` for it
   */
  private async startOf({ tenant, lastEventId }: StreamRequest): Promise<{ seq: number; id: string }> {
    const origin = originOf(tenant);
    if (lastEventId === undefined) {
      const { seq = 0, _id: id = origin } = (await this.log.newest(tenant)) ?? {};
      return { seq, id };
    }
    if (lastEventId === origin) return { seq: 0, id: origin };
    const event = await this.log.find(tenant, lastEventId);
    if (!event) throw new UnknownEventError();
    return { seq: event.seq, id: lastEventId };
  }

  private add(stream: EventStream, expires: number): void {
    this.streams.set(stream, expires);
    this.heartbeat ??= setInterval(
      () => void inTurns(this.streams.keys(), (open) => open.beat()),
      this.options.heartbeatMs,
    );
    this.expiry ??= this.atFullSecond();
  }

  private remove(stream: EventStream): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    clearInterval(this.heartbeat);
    clearTimeout(this.expiry);
    this.heartbeat = this.expiry = undefined;
  }

  /** Ends the streams whose tokens have expired, at the next full second and from then on. */
  private atFullSecond(): NodeJS.Timeout {
    return setTimeout(
      () => {
        this.expiry = this.atFullSecond();
        for (const [stream, expires] of this.streams)
          if (expires <= Date.now() / 1_000) stream.end('token expired');
      },
      1_000 - (Date.now() % 1_000),
    );
  }
}

/** Sends the headers, including those of earlier hooks; the platform does not touch the rest of the response. */
function begin(reply: HttpResponse): void {
  const headers = { ...(reply.getHeaders() as Record<string, string>), ...HEADERS };
  // A method of Fastify's.
  (reply as { hijack?: () => unknown }).hijack?.();
  rawOf(reply).writeHead(200, headers);
}
