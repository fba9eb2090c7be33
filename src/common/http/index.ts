export { discardRest, hasBody, linesOf, readBody, streamBody } from './read-body.js';
export {
  bodyFault,
  type CarriedBody,
  carriedBodyOf,
  CarriesBodies,
  MERGE_PATCH_TYPE,
  NDJSON_TYPE,
  StrictBody,
} from './body-parsing.js';
export { clientOf, FairSlots, type SlotLimits } from './load/client-limits.js';
export {
  type Coding,
  codingOf,
  Compressed,
  isStream,
  preferredType,
  useSecurityHeaders,
  varyBy,
} from './responses.js';
export type { ConnectionLimits } from './connections.js';
export { createHttpAdapter } from './http-adapter.js';
export {
  type CarriedAnswer,
  type CarriedRequest,
  CarriedRequests,
  type Carry,
  type ServedRoute,
} from './sub-requests.js';
export {
  type CarryOutInTurn,
  carryOutTogether,
  type LoadOptions,
  stepAside,
  UnderLoad,
  useLoadControl,
} from './load/load-control.js';
export { checkHarmless, nextTimeSlice, parseJson } from './json-body.js';
export * from './log.js';
export { useRequestMetrics } from './request-metrics.js';
export {
  type QueryParameters,
  queryOf,
  ReadsQuery,
  StrictQueryInterceptor,
  TakesQuery,
} from './strict-query.js';
export type { Reservation } from './byte-budget.js';
export { type Place, type TransferLimits, Transfers } from './transfers.js';
