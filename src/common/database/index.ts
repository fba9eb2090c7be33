export * from './database.js';
export * from './database.module.js';
export { type BackgroundTask, pause } from './background-tasks.js';
export { replaceIndex, reserveCollection } from './collections.js';
export { Batches, type BatchOptions, sharing } from './batches.js';
export { CALL_DEADLINE_MS, OPERATION_LIMITS, STREAM_BATCH, STREAM_BATCH_BYTES } from './database-limits.js';
export type { BatchKind, DatabaseFigures } from './database-figures.js';
export * from './database-server.js';
export { InstallationKey } from './installation-key.js';
