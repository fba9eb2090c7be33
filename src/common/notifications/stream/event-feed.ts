import { Inject, Injectable, Logger } from '@nestjs/common';
import { pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { EventLog } from '../log/event-log.js';
import { EventBatch, inTurns } from './event-frames.js';

/** Settings of live streams. */
export interface StreamOptions {
  /** Time between two heartbeats. Unit: milliseconds. @default 15000 */
  readonly heartbeatMs: number;
  /**
   * How often to look for the events of other processes while a client listens. Unit: milliseconds.
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

/** Maximum number of events to read at a time. */
const PAGE = 100;

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
 * Follows the log for all clients of this process with a single read, or none if there are no clients. Appends
 * of this process wake it. Positions in the log have no gaps and become visible in order, so a reader who has
 * read up to one has missed nothing before it.
 */
@Injectable()
export class EventFeed {
  private readonly logger = new Logger('EventFeed');
  private readonly followers = new Map<string, Set<Follower>>();
  private waking = new AbortController();
  /** Resolves when the end of the log is known; undefined while there are no clients. */
  private begun?: Promise<number>;
  private reading = new AbortController();

  constructor(
    private readonly log: EventLog,
    @Inject(STREAM_OPTIONS) private readonly options: StreamOptions,
  ) {
    log.onAppend(() => this.waking.abort());
  }

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
      this.begun ??= this.begin();
      await this.begun;
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
    this.begun = undefined;
    this.reading.abort();
    this.waking.abort();
  }

  private begin(): Promise<number> {
    const { signal } = (this.reading = new AbortController());
    const begun = this.log.head();
    // A failure is that of `follow`.
    begun.then((head) => this.readFrom(head, signal)).catch(() => undefined);
    return begun;
  }

  private async readFrom(start: number, ended: AbortSignal): Promise<void> {
    let position = start;
    while (!ended.aborted) {
      this.waking = new AbortController();
      try {
        position = await this.readOn(position, ended);
      } catch (error) {
        if (!ended.aborted)
          this.logger.warn({ ...OUTAGE, error }, 'The log of events cannot be read; trying on');
      }
      await pause(this.options.pollMs, this.waking.signal);
    }
  }

  /** Passes on the events after a position, up to the end of the log. @returns the position of the last one */
  private async readOn(start: number, ended: AbortSignal): Promise<number> {
    const head = await this.log.head();
    if (head < start)
      for (const followers of this.followers.values()) for (const one of followers) one.restart(head);
    let position = Math.min(start, head);
    while (position < head && !ended.aborted) {
      const tenants = this.followers.size > NAMED_TENANTS ? undefined : [...this.followers.keys()];
      const events = await this.log.read(position, { tenants, limit: PAGE });
      for (const tenant of new Set(events.map((event) => event.tenant))) {
        const batch = new EventBatch(events.filter((event) => event.tenant === tenant));
        await inTurns(this.followers.get(tenant) ?? [], (follower) => follower.take(batch));
      }
      // Not beyond the end seen before: a tenant that joins during the read gets the events after that.
      const last = events.length < PAGE ? head : (events.at(-1)?.seq ?? head);
      position = Math.min(head, last);
    }
    return position;
  }
}
