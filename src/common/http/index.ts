export { preferredType } from './accept.js';
export { hasBody } from './body-timeout.js';
export { bodyFault, MERGE_PATCH_TYPE, StrictBody } from './body-parsing.js';
export { clientOf } from './client-of.js';
export { Compressed } from './compression.js';
export type { ConnectionLimits } from './connection-limits.js';
export { createHttpAdapter } from './http-adapter.js';
export { carriedBodyOf, CarriesBodies, type CarriedBody, NDJSON_TYPE } from './body-parsing.js';
export {
  type CarriedAnswer,
  type CarriedRequest,
  CarriedRequests,
  type Carry,
  type ServedRoute,
} from './carried-requests.js';
export {
  type CarryOutInTurn,
  carryOutTogether,
  type LoadOptions,
  stepAside,
  UnderLoad,
  useLoadControl,
} from './load/load-control.js';
export { nextTimeSlice } from './load/time-slices.js';
export { FairSlots, type SlotLimits } from './load/fair-slots.js';
export { checkHarmless, parseJson } from './json-body.js';
export { OpenConnections } from './open-connections.js';
export * from './pino-logger.js';
export { useRequestMetrics } from './request-metrics.js';
export { useSecurityHeaders } from './security-headers.js';
export {
  type QueryParameters,
  queryOf,
  ReadsQuery,
  StrictQueryInterceptor,
  TakesQuery,
} from './strict-query.js';
export type { Reservation } from './byte-budget.js';
export { varyBy } from './accept.js';
export { discardRest, linesOf, readBody, streamBody } from './read-body.js';
export { type Place, type TransferLimits, Transfers } from './transfers.js';
