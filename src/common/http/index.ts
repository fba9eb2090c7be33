export * from './body-parsing.js';
export * from './http-adapter.js';
export * from './known-paths.js';
export * from './pino-logger.js';
export * from './request-log.js';
export * from './strict-query.js';
