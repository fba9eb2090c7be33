export { createHttpAdapter } from './http-adapter.js';
export * from './pino-logger.js';
export type { QueryParameters } from './query-string.js';
export * from './strict-query.js';
