export { createHttpAdapter } from './http-adapter.js';
export * from './pino-logger.js';
export * from './strict-query.js';
