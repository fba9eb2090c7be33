/** How long a client may take before its connection is closed. */
export interface ConnectionLimits {
  /**
   * For the head of a request, from its first byte or the opening of the connection. Unit: milliseconds.
   *
   * @default 10000
   */
  readonly headersMs: number;
  /** For a whole request body; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  readonly bodyMs: number;
  /**
   * Without progress of a request or an answer: at most this, at least half of it. Unit: milliseconds.
   *
   * @default 60000
   */
  readonly stallMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { headersMs: 10_000, bodyMs: 20_000, stallMs: 60_000 };
