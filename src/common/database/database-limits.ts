/**
 * Time-outs that add up to less than five seconds per request, whatever the database does. The driver retries
 * an operation once after a network error, so the socket's time-out counts twice.
 */
export const CONNECTION_LIMITS = {
  /** How long a response on an open connection may take. Unit: milliseconds. */
  socketTimeoutMS: 2_000,
  /** How long opening a connection may take. Unit: milliseconds. */
  connectTimeoutMS: 2_000,
  /** How long to look for a server that accepts the operation. Unit: milliseconds. */
  serverSelectionTimeoutMS: 2_000,
  /** How long to wait for a free connection of the pool. Unit: milliseconds. */
  waitQueueTimeoutMS: 2_000,
  /** How often to look for a lost server. Unit: milliseconds. */
  heartbeatFrequencyMS: 2_000,
} as const;

/** Maximum number of connections to the embedded database. Both ends of each are in this process. */
export const EMBEDDED_CONNECTIONS = 200;

/**
 * A write is acknowledged once the journal of most members has it: otherwise, a crash could lose the last 100 ms
 * (https://www.mongodb.com/docs/manual/reference/write-concern/).
 */
export const DURABLE_WRITES = { w: 'majority', journal: true } as const;

/** Ends operations before the socket's time-out. Mongoose writes into options: spread it into an object for each call. */
export const OPERATION_LIMITS = Object.freeze({ maxTimeMS: 1_600 });

/** The same for reads that a secondary could answer without what has just been written. */
export const FROM_PRIMARY = Object.freeze({ ...OPERATION_LIMITS, readPreference: 'primary' });

/** The last resort, beyond all of the driver's own limits. Unit: milliseconds. */
export const CALL_DEADLINE_MS = 3_600;

/** How long to check that the database can be reached after an operation ran into a time limit. Unit: milliseconds. */
export const PROBE_MS = 400;

/** How often to retry opening the database at the start. Unit: milliseconds. */
export const OPEN_RETRY_MS = 1_000;

/** Longest time between attempts to build an index. Unit: milliseconds. */
export const MAX_RETRY_MS = 60_000;

/** How often a process looks whether it has lost the database, and takes over the embedded one. Unit: milliseconds. */
export const RECONNECT_RETRY_MS = 250;

/** After how many of these attempts the driver has to look anew: 15 s, since an election takes up to twelve. */
export const RECONNECT_ATTEMPTS = 60;

/** Number of records of a batch to decode at a time. Unit: records. */
export const MADE_AT_A_TIME = 16;

/** Number of records to fetch at a time while a list is streamed, and so to hold in memory. Unit: records. */
export const STREAM_BATCH = 200;

/** Approximate maximum size of such a batch. Unit: bytes. */
export const STREAM_BATCH_BYTES = 1_048_576;
