/** How live streams behave. */
export interface StreamOptions {
  /** Time between two heartbeats. Unit: milliseconds. @default 15000 */
  readonly heartbeatMs: number;
  /** How often the log is looked at while a client listens and no change stream tells of news. Unit: milliseconds. @default 250 */
  readonly pollMs: number;
  /** Maximum number of streams of one tenant in this process. @default 1000 */
  readonly maxPerTenant: number;
  /** Maximum number of streams in this process. @default 10000 */
  readonly maxInAll: number;
  /** Maximum size of the data that waits for one client, before it is disconnected. Unit: bytes. @default 1048576 */
  readonly maxWaitingBytes: number;
  /** How long a client may take nothing of what waits for it before it is cut off. Unit: milliseconds. @default 30000 */
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
