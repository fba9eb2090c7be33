export {
  bodyError,
  bodyFormatOf,
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
export { clientOf, FairShare, isTenant, ownerAt, type QueuedSlot, type ShareLimits } from './fair-share.js';
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
export { type PageSlot, type Slot, type StreamLimits, StreamSlots } from './stream-slots.js';
