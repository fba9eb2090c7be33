import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Batches, InstallationKey } from '../../database/index.js';
import { ShuttingDownError, TooManyStreamsError, UnknownEventError } from '../../errors/index.js';
import { FairShare } from '../../http/index.js';
import { type HttpResponse, rawOf } from '../../platform/index.js';
import { EventLog, type EventRecord } from '../log/event-log.js';
import { EventFeed, STREAM_OPTIONS, type StreamOptions } from './event-feed.js';
import { inTurns, openingFrame } from './event-frames.js';
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

/** The start of a stream. */
interface StreamStart {
  /** Position in the log: the stream starts after it. */
  readonly seq: number;
  /** The `Last-Event-ID` for the same position. */
  readonly id: string;
}

/** Form of the identifier of an event. */
const EVENT_ID = /^evt_[0-9a-f]{24}$/;

/** Finds the start of a stream. */
@Injectable()
export class StreamStarts {
  constructor(
    private readonly log: EventLog,
    private readonly key: InstallationKey,
  ) {}

  /**
   * After the tenant's newest event. A tenant without events gets an identifier for the position before its
   * first.
   */
  async atEnd(tenant: string): Promise<StreamStart> {
    const newest = await this.log.newest(tenant);
    return newest ? { seq: newest.seq, id: newest._id } : { seq: 0, id: await this.originOf(tenant) };
  }

  /**
   * After an event of the tenant.
   *
   * @throws UnknownEventError if the tenant has no such event, whether or not another tenant has it
   */
  async after(tenant: string, id: string): Promise<StreamStart> {
    if (!EVENT_ID.test(id)) throw new UnknownEventError();
    const event = await this.log.find(tenant, id);
    if (event) return { seq: event.seq, id };
    if (id === (await this.originOf(tenant))) return { seq: 0, id };
    throw new UnknownEventError();
  }

  /** Signed, so that it reveals nothing about other tenants and cannot be guessed. */
  private async originOf(tenant: string): Promise<string> {
    const signature = createHmac('sha256', await this.key.get()).update(`events of ${tenant}`);
    return `evt_${signature.digest('hex').slice(0, 24)}`;
  }
}

/** The open streams of this process: their limits, heartbeats and ends. */
@Injectable()
export class EventStreams {
  private readonly streams = new Set<EventStream>();
  /** Includes streams that are being opened. */
  private readonly slots: FairShare;
  private readonly expiries = new ExpirySchedule();
  private heartbeat?: NodeJS.Timeout;
  private closing?: AbortSignal;

  /** Reads of the log by streams that catch up: one of a tenant at a time, however many streams it has. */
  private readonly pages = new Batches<() => Promise<EventRecord[]>, EventRecord[]>(
    ([read]) => Promise.all(read ? [read()] : []),
    { max: 1 },
  );

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly starts: StreamStarts,
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
      this.remove(stream, expires);
    });
    this.add(stream, expires);
    begin(reply);
    await stream.begin(openingFrame(start.id));
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
      for (const stream of this.streams) stream.end('shutting down');
    });
  }

  private startOf({ tenant, lastEventId }: StreamRequest): Promise<StreamStart> {
    return lastEventId === undefined ? this.starts.atEnd(tenant) : this.starts.after(tenant, lastEventId);
  }

  private add(stream: EventStream, expires: number): void {
    this.streams.add(stream);
    this.expiries.add(stream, expires);
    this.heartbeat ??= setInterval(
      () => void inTurns(this.streams, (open) => open.beat()),
      this.options.heartbeatMs,
    );
  }

  private remove(stream: EventStream, expires: number): void {
    this.streams.delete(stream);
    this.expiries.remove(stream, expires);
    if (this.streams.size > 0) return;
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }
}

/** Sends the headers, including those of earlier hooks; the platform does not touch the rest of the response. */
function begin(reply: HttpResponse): void {
  const headers = { ...(reply.getHeaders() as Record<string, string>), ...HEADERS };
  // A method of Fastify's.
  (reply as { hijack?: () => unknown }).hijack?.();
  rawOf(reply).writeHead(200, headers);
}

/** Something that ends when a token expires. */
interface Expiring {
  end(reason: string): void;
}

/** Ends streams when their tokens expire, using a single timer that fires at full seconds. */
class ExpirySchedule {
  private readonly due = new Map<number, Set<Expiring>>();
  private timer?: NodeJS.Timeout;

  /** @param expires `exp` of the token (RFC 7519, section 4.1.4). Unit: seconds since the epoch. */
  add(stream: Expiring, expires: number): void {
    this.due.set(expires, (this.due.get(expires) ?? new Set()).add(stream));
    this.timer ??= this.nextSecond();
  }

  remove(stream: Expiring, expires: number): void {
    const streams = this.due.get(expires);
    streams?.delete(stream);
    if (streams?.size === 0) this.due.delete(expires);
    if (this.due.size > 0) return;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private nextSecond(): NodeJS.Timeout {
    return setTimeout(() => this.endDue(), 1_000 - (Date.now() % 1_000));
  }

  private endDue(): void {
    this.timer = this.nextSecond();
    const now = Date.now() / 1_000;
    for (const [expires, streams] of this.due) {
      if (expires <= now) for (const stream of streams) stream.end('token expired');
    }
  }
}
