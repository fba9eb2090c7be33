/** How long a client may take; then its connection is closed. */
export interface ConnectionLimits {
  /** For the head of a request, from its first byte, or from the opening of the connection. Unit: milliseconds. @default 10000 */
  readonly headersMs: number;
  /** For the body of a request in all; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  readonly bodyMs: number;
  /** For any progress while bytes are sent or received. Unit: milliseconds. @default 60000 */
  readonly stallMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { headersMs: 10_000, bodyMs: 20_000, stallMs: 60_000 };
