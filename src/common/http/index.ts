export { createHttpAdapter } from './http-adapter.js';
export { CarriesBodies, type CarriedBody, NDJSON_TYPE } from './carried-body.js';
export type { CarriedAnswer, CarriedRequest, Carry } from './carried-requests.js';
export { type LoadOptions, UnderLoad, useLoadControl } from './load/load-control.js';
export { checkHarmless, parseJson } from './json-body.js';
export { OpenConnections } from './open-connections.js';
export * from './pino-logger.js';
export type { QueryParameters } from './query-string.js';
export * from './strict-query.js';
