import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InstallationKey } from '../../database/index.js';
import { UnknownEventError } from '../../errors/index.js';
import { EventLog } from '../log/event-log.js';

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

/** The start of a stream. */
export interface StreamStart {
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
