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
