export * from './current-tenant.js';
export * from './isolated.js';
export * from './tenancy.module.js';
export * from './tenant-context.js';
export * from './tenant.guard.js';
export * from './tenant.interceptor.js';
export * from './token-verifier.js';
