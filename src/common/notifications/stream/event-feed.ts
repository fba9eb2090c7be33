import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Model } from 'mongoose';
import { CRUD_CONNECTION, pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { EventLog, EventRecord } from '../log/event-log.js';
import { EventBatch, inTurns } from './event-frames.js';

/** Settings of live streams. */
export interface StreamOptions {
  /** Time between two heartbeats. Unit: milliseconds. @default 15000 */
  readonly heartbeatMs: number;
  /**
   * How often the log is polled while a client listens without a change stream. Unit: milliseconds.
   *
   * @default 250
   */
  readonly pollMs: number;
  /** Maximum number of streams of one tenant in this process. @default 1000 */
  readonly maxPerTenant: number;
  /** Maximum number of streams in this process. @default 10000 */
  readonly maxInAll: number;
  /**
   * Maximum amount of data that may wait for one client before it is disconnected. Unit: bytes.
   *
   * @default 1048576
   */
  readonly maxWaitingBytes: number;
  /**
   * How long a client may take none of the waiting data before it is disconnected. Unit: milliseconds.
   *
   * @default 30000
   */
  readonly maxStallMs: number;
}

export const STREAM_OPTIONS = Symbol('StreamOptions');

export const STREAM_DEFAULTS: StreamOptions = Object.freeze({
  heartbeatMs: 15_000,
  pollMs: 250,
  maxPerTenant: 1_000,
  maxInAll: 10_000,
  maxWaitingBytes: 1_048_576,
  maxStallMs: 30_000,
});

/** Maximum number of tenants to name when the log is read; with more, everything new is read. */
const NAMED_TENANTS = 100;
/** How many times less often the log is polled while a change stream works. */
const RARER = 8;

/** A follower of one tenant's events. */
export interface Follower {
  /**
   * Takes events in order. Some may be repeated, and those that were stored before `follow` resolved may be
   * missing.
   */
  take(batch: EventBatch): void;
  /** Another database has replaced the first one: the log continues after this position. */
  restart(head: number): void;
}

/**
 * Follows the log for all listeners in this process with a single read, or none if there are no listeners.
 * Appends of this process wake it, and a change stream if there is one, or polling otherwise.
 */
@Injectable()
export class EventFeed {
  private readonly followers = new Map<string, Set<Follower>>();
  private activity?: Activity;

  constructor(
    private readonly log: EventLog,
    @InjectModel(EventRecord.name, CRUD_CONNECTION) private readonly events: Model<EventRecord>,
    @Inject(STREAM_OPTIONS) private readonly options: StreamOptions,
  ) {}

  /**
   * Passes a tenant's events to a follower. Once this has resolved, every stored event has either been passed
   * on, or is in the log for anyone who reads it from then on.
   *
   * @returns a function that unsubscribes the follower
   * @throws DatabaseUnavailableError, DatabaseTooSlowError if the log cannot be read
   */
  async follow(tenant: string, follower: Follower): Promise<() => void> {
    const ofTenant = this.followers.get(tenant) ?? new Set();
    this.followers.set(tenant, ofTenant.add(follower));
    const leave = () => this.leave(tenant, follower);
    try {
      this.activity ??= this.start();
      await this.activity.begun;
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  private leave(tenant: string, follower: Follower): void {
    const ofTenant = this.followers.get(tenant);
    ofTenant?.delete(follower);
    if (ofTenant?.size === 0) this.followers.delete(tenant);
    if (this.followers.size > 0) return;
    this.activity?.end();
    this.activity = undefined;
  }

  private start(): Activity {
    const tail = new LogTail(this.log, {
      tenants: () => (this.followers.size > NAMED_TENANTS ? undefined : [...this.followers.keys()]),
      take: (events) => this.spread(events),
      restart: (head) => {
        for (const follower of this.all()) follower.restart(head);
      },
    });
    const wake = () => tail.wake();
    const begun = tail.begin();
    const ignore = this.log.onAppend(wake);
    const watch = new AppendWatch(this.events, wake);
    const { pollMs } = this.options;
    let polls = 0;
    const polling = setInterval(() => {
      polls += 1;
      if (!watch.active || polls % RARER === 0) wake();
    }, pollMs);
    const end = () => {
      clearInterval(polling);
      watch.close();
      ignore();
      tail.close();
    };
    return { begun, end };
  }

  /** Passes each tenant's events to its followers. */
  private async spread(events: readonly EventRecord[]): Promise<void> {
    for (const [tenant, ofTenant] of byTenant(events)) {
      const batch = new EventBatch(ofTenant);
      await inTurns(this.followers.get(tenant) ?? [], (follower) => follower.take(batch));
    }
  }

  private *all(): Iterable<Follower> {
    for (const followers of this.followers.values()) yield* followers;
  }
}

function byTenant(events: readonly EventRecord[]): Map<string, EventRecord[]> {
  const tenants = new Map<string, EventRecord[]>();
  for (const event of events) {
    const ofTenant = tenants.get(event.tenant);
    if (ofTenant) ofTenant.push(event);
    else tenants.set(event.tenant, [event]);
  }
  return tenants;
}

/** The work that runs while a client is connected. */
interface Activity {
  /** Resolves when the end of the log is known. */
  readonly begun: Promise<void>;
  end(): void;
}

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
class AppendWatch {
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

/** Maximum number of events to read at a time. */
const PAGE = 100;

/** The reader of a tail's events. */
interface TailReader {
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
class LogTail {
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
