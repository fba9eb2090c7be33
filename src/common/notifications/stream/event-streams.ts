import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { Batches, pause, singleFlight } from '../../database/index.js';
import { DomainError, OUTAGE, ShuttingDownError, TooManyStreamsError } from '../../errors/index.js';
import { FairShare, ownerAt } from '../../http/index.js';
import { type HttpResponse, rawOf } from '../../request/index.js';
import type { EventLog, EventRecord } from '../log/event-log.js';
import { EventStream, type Frame, frameOf, PAGE } from './event-stream.js';

/** Settings of live streams. */
export interface StreamOptions {
  /** Time between two heartbeats. Unit: milliseconds. @default 15000 */
  readonly heartbeatMs: number;
  /** How often to look for the events of other processes. Unit: milliseconds. @default 250 */
  readonly pollMs: number;
  /** Maximum number of streams of one tenant in this process. @default 1000 */
  readonly maxPerTenant: number;
  /** Maximum number of streams in this process. @default 10000 */
  readonly maxInAll: number;
  /** How long a client may leave data waiting before it is disconnected. Unit: milliseconds. @default 30000 */
  readonly maxStallMs: number;
}

const DEFAULTS: StreamOptions = Object.freeze({
  heartbeatMs: 15_000,
  pollMs: 250,
  maxPerTenant: 1_000,
  maxInAll: 10_000,
  maxStallMs: 30_000,
});

/** Maximum number of new events whose tenants are looked up; beyond, all streams are woken. */
const MAX_LOOKED_UP = 1_000;

/** The longest time that a timer takes. Unit: milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

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

/**
 * Opens streams, each with its heartbeats and its end. While there are any, it watches the log for all of them, and wakes
 * those whose tenants have new events. Appends of this process are seen at once.
 */
export class EventStreams {
  private readonly logger = new Logger('EventFeed');
  private readonly options: StreamOptions;
  private readonly slots: FairShare;
  /** Each open stream, with its tenant. */
  private readonly streams = new Map<EventStream, string>();
  private waking = new AbortController();
  private isWatching = false;
  /** Reads of the log: streams at the same position share one. */
  private readonly pages = singleFlight<readonly Frame[]>();
  /** Reads of a tenant follow one another, however many streams it has. */
  private readonly turns = new Batches<() => Promise<readonly Frame[]>, readonly Frame[]>(
    ([read]) => Promise.all(read ? [read()] : []),
    { max: 1 },
  );

  constructor(
    private readonly log: EventLog,
    options: Partial<StreamOptions> = {},
  ) {
    this.options = { ...DEFAULTS, ...options };
    const { maxInAll, maxPerTenant } = this.options;
    this.slots = new FairShare({ maxInAll, maxPerClient: maxPerTenant });
    log.appended.subscribe(() => this.waking.abort());
  }

  /**
   * Answers a request with a stream, or HEAD with its headers.
   *
   * @throws TooManyStreamsError, OverloadedError, ShuttingDownError if no other stream can be opened
   * @throws DomainError `UNKNOWN_EVENT` if the tenant has no event with the identifier
   * @throws DatabaseUnavailableError, DatabaseTooSlowError if the log cannot be read
   */
  async open(request: StreamRequest, reply: HttpResponse): Promise<void> {
    const { tenant, expires, types, closing } = request;
    const response = rawOf(reply);
    const leaveSlot = this.slots.hold(
      ownerAt('', tenant),
      () => response.destroy(),
      (max) => new TooManyStreamsError('events', max),
    );
    // Also emitted after an error response.
    response.once('close', leaveSlot);
    const start = await this.startOf(request);
    if (response.destroyed) return;
    if (closing.aborted) throw new ShuttingDownError();
    begin(reply);
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    const read = (after: number) => this.read(tenant, after);
    const stream = new EventStream(response, start.seq, types, read, this.options.maxStallMs);
    this.streams.set(stream, tenant);
    if (!this.isWatching) void this.watch();
    const heartbeat = setInterval(() => stream.beat(), this.options.heartbeatMs);
    const left = Math.min(expires * 1_000 - Date.now(), MAX_TIMER_MS);
    const expiry = setTimeout(() => stream.end('token expired'), left);
    const close = () => stream.end('shutting down');
    closing.addEventListener('abort', close);
    response.once('close', () => {
      this.streams.delete(stream);
      if (this.streams.size === 0) this.waking.abort();
      clearInterval(heartbeat);
      clearTimeout(expiry);
      closing.removeEventListener('abort', close);
    });
    // Sets the client's last event identifier without an event, so that it can resume before its first one.
    await stream.run(`: connected\nid: ${start._id}\n\n`);
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
      await pause(this.options.pollMs, this.waking.signal);
    }
    this.isWatching = false;
  }

  /** Wakes the streams of the events after a position. @returns the end of the log */
  private async wakeAfter(start: number): Promise<number> {
    const head = await this.log.head();
    // Positions in another log mean nothing: its clients have to begin anew.
    if (head < start) for (const stream of this.streams.keys()) stream.end('the log of events was replaced');
    if (head <= start) return head;
    const areMany = head - start > MAX_LOOKED_UP;
    const tenants = new Set(areMany ? [] : await this.log.tenantsOf({ after: start, upTo: head }));
    for (const [stream, tenant] of this.streams) if (areMany || tenants.has(tenant)) stream.wake();
    return head;
  }

  private read(tenant: string, after: number): Promise<readonly Frame[]> {
    const page = async () => (await this.log.read(tenant, { after, limit: PAGE })).map(frameOf);
    return this.pages.add(() => this.turns.add(page, tenant), `${tenant} ${after}`);
  }

  /** The event after which the stream begins: the last one that the client has, or else the newest. */
  private async startOf({ tenant, lastEventId }: StreamRequest): Promise<Pick<EventRecord, '_id' | 'seq'>> {
    const digits = createHash('sha256').update(`events of ${tenant}`).digest('hex').slice(0, 24);
    // The position of a tenant before its first event.
    const origin = { _id: `evt_${digits}`, seq: 0 };
    if (lastEventId === undefined) return (await this.log.newest(tenant)) ?? origin;
    if (lastEventId === origin._id) return origin;
    const event = await this.log.find(tenant, lastEventId);
    if (!event) throw new DomainError('UNKNOWN_EVENT');
    return event;
  }
}

/** Sends the headers, including those of earlier hooks; the platform does not touch the rest of the response. */
function begin(reply: HttpResponse): void {
  const headers = { ...(reply.getHeaders() as Record<string, string>), ...HEADERS };
  // A method of Fastify's.
  (reply as { hijack?: () => unknown }).hijack?.();
  rawOf(reply).writeHead(200, headers);
}
