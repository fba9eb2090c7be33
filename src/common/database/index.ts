export * from './collections.js';
export * from './database.js';
export * from './database-server.js';
export * from './database-errors.js';
export * from './database-limits.js';
export * from './database.module.js';
