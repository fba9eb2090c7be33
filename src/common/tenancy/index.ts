export * from './tenant-scope.js';
export * from './tenant.guard.js';
export * from './tokens.js';
