export * from './database.js';
export * from './database.module.js';
export { type BackgroundTask, pause } from './background-tasks.js';
export { replacing, reserveCollection } from './collections.js';
export { DUPLICATE_KEY } from './database-errors.js';
export { Batches, type BatchOptions, singleFlight } from './batches.js';
export {
  CALL_DEADLINE_MS,
  FROM_PRIMARY,
  OPERATION_LIMITS,
  STREAM_BATCH,
  STREAM_BATCH_BYTES,
} from './database-limits.js';
export type { BatchKind, DatabaseMetrics } from './database-metrics.js';
export * from './database-server.js';
export { InstallationKey } from './installation-key.js';
