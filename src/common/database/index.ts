export * from './database.js';
export * from './database.module.js';
export type { BackgroundTask } from './background-tasks.js';
export { Batches, type BatchOptions, sharing } from './batches.js';
export { Gatherer, type GathererOptions } from './gatherer.js';
export { CALL_DEADLINE_MS, OPERATION_LIMITS, STREAM_BATCH, STREAM_BATCH_BYTES } from './database-limits.js';
export * from './database-server.js';
export { InstallationKey } from './installation-key.js';
export { pause } from './pause.js';
