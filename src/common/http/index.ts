export {
  bodyFault,
  discardRest,
  hasBody,
  JSON_TYPE,
  linesOf,
  MERGE_PATCH_TYPE,
  NDJSON_TYPE,
  readBody,
  streamBody,
} from './body.js';
export type { Reservation } from './byte-budget.js';
export * from './client-limits.js';
export { FairQueue, type FairQueueOptions, type QueueRefusal } from './fair-queue.js';
export { checkHarmless, nextTimeSlice, parseJson } from './json-body.js';
export * from './negotiation.js';
export * from './route-options.js';
export {
  type QueryParameters,
  queryOf,
  ReadsQuery,
  StrictQueryInterceptor,
  TakesQuery,
} from './strict-query.js';
export { type Place, type TransferLimits, Transfers } from './transfers.js';
export * from './turns.js';
