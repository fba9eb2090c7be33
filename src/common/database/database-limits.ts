/**
 * Time-outs that add up to less than five seconds a request, whatever the database does. The driver retries an
 * operation once after a network error, so that the socket's time-out counts twice.
 */
export const CONNECTION_LIMITS = {
  /** How long an answer may take on an open connection. Unit: milliseconds. */
  socketTimeoutMS: 2_000,
  /** How long opening a connection may take. Unit: milliseconds. */
  connectTimeoutMS: 2_000,
  /** How long to look for a server that takes the operation. Unit: milliseconds. */
  serverSelectionTimeoutMS: 2_000,
  /** How long to wait for a free connection of the pool. Unit: milliseconds. */
  waitQueueTimeoutMS: 2_000,
  /** How soon a server that was lost is looked for again. Unit: milliseconds. */
  heartbeatFrequencyMS: 2_000,
} as const;

/**
 * The write concern: a write is acknowledged once it is in the journal of most members, so that no crash loses it. A standalone server
 * would otherwise acknowledge up to 100 ms before it is on the disk.
 * https://www.mongodb.com/docs/manual/reference/write-concern/
 */
export const DURABLE_WRITES = { w: 'majority', journal: true } as const;

/**
 * The server gives an operation up by itself well before the socket does, which would break the connection and have the
 * driver try once more. Frozen, since Mongoose writes into the options
 * of a query: spread it into an object of each call.
 */
export const OPERATION_LIMITS = Object.freeze({ maxTimeMS: 1_600 });

/** The last resort above all of the driver's own limits. Unit: milliseconds. */
export const CALL_DEADLINE_MS = 3_600;

/** How long a database that ran into a time limit has to show that it can be reached. Unit: milliseconds. */
export const PROBE_MS = 400;

/** How often opening the database is tried again at the start. Unit: milliseconds. */
export const OPEN_RETRY_MS = 1_000;

/** How often a process tries to run the embedded default after another one's end. Unit: milliseconds. */
export const TAKE_OVER_RETRY_MS = 250;

/** Records of a batch that are made of their bytes at a time. Unit: records. */
export const MADE_AT_A_TIME = 16;

/** Records fetched from the server at a time while a list is streamed: what a stream holds in memory. Unit: records. */
export const STREAM_BATCH = 500;

/** Size that such a batch should not exceed by much. Unit: bytes. */
export const STREAM_BATCH_BYTES = 1_048_576;
