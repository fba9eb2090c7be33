export {
  bodyFault,
  bodyFormOf,
  type BatchBody,
  discardRest,
  HasBody,
  hasBody,
  linesOf,
  MERGE_PATCH_TYPE,
  NDJSON_TYPE,
  readJson,
  StrictBody,
  streamBody,
} from './body.js';
export { clientOf, FairShare, isTenant, ownerAt, type QueuedPlace, type ShareLimits } from './fair-share.js';
export { checkHarmless, nextTimeSlice, parseJson } from './json-body.js';
export * from './negotiation.js';
export * from './route-options.js';
export {
  checkQuery,
  type QueryParameters,
  queryOf,
  ReadsQuery,
  StrictQueryInterceptor,
  TakesQuery,
} from './strict-query.js';
export { type PagePlace, type Place, type TransferLimits, Transfers } from './transfers.js';
