import { Inject, Injectable, Logger } from '@nestjs/common';
import { pause } from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { EventLog } from '../log/event-log.js';

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

export const STREAM_OPTIONS = Symbol('StreamOptions');

export const STREAM_DEFAULTS: StreamOptions = Object.freeze({
  heartbeatMs: 15_000,
  pollMs: 250,
  maxPerTenant: 1_000,
  maxInAll: 10_000,
  maxStallMs: 30_000,
});

/** Maximum number of events to look at by one command. */
const STEP = 1_000;

/** A follower of one tenant's events. */
export interface Follower {
  /** The log has new events of the tenant. */
  wake(): void;
  /** Ends the stream, with a comment that gives the reason. */
  end(reason: string): void;
}

/**
 * Watches the log for all clients of this process, if there are any, and wakes those whose tenants have new
 * events. Appends of this process are seen at once.
 */
@Injectable()
export class EventFeed {
  private readonly logger = new Logger('EventFeed');
  private readonly followers = new Map<string, Set<Follower>>();
  private waking = new AbortController();
  /** Resolves when the end of the log is known; undefined while there are no clients. */
  private begun?: Promise<number>;
  private watching = new AbortController();

  constructor(
    private readonly log: EventLog,
    @Inject(STREAM_OPTIONS) private readonly options: StreamOptions,
  ) {
    log.appended.subscribe(() => this.waking.abort());
  }

  /**
   * Wakes a follower for each event of a tenant that is not in the log yet when this resolves.
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
    this.watching.abort();
    this.waking.abort();
  }

  private begin(): Promise<number> {
    const { signal } = (this.watching = new AbortController());
    const begun = this.log.head();
    // A failure is that of `follow`.
    begun.then((head) => this.watch(head, signal)).catch(() => undefined);
    return begun;
  }

  private async watch(start: number, ended: AbortSignal): Promise<void> {
    let position = start;
    while (!ended.aborted) {
      this.waking = new AbortController();
      try {
        position = await this.wakeAfter(position);
      } catch (error) {
        if (!ended.aborted)
          this.logger.warn({ ...OUTAGE, error }, 'The log of events cannot be read; trying on');
      }
      await pause(this.options.pollMs, this.waking.signal);
    }
  }

  /** Wakes the followers of the events after a position. @returns the end of the log */
  private async wakeAfter(start: number): Promise<number> {
    const head = await this.log.head();
    if (head < start) this.endAll('the log of events was replaced');
    for (let position = start; position < head; position += STEP) {
      const tenants = await this.log.tenantsOf({ after: position, upTo: Math.min(head, position + STEP) });
      for (const tenant of tenants) for (const follower of this.followers.get(tenant) ?? []) follower.wake();
    }
    return head;
  }

  /** Positions in another log mean nothing: its clients have to begin anew. */
  private endAll(reason: string): void {
    for (const ofTenant of this.followers.values()) for (const follower of ofTenant) follower.end(reason);
  }
}
