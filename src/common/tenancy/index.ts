export { bearerTokenOf, CallerIdentity, Callers, type Identity } from './callers.js';
export * from './tenant-scope.js';
export * from './tenant.guard.js';
export * from './isolation-source.js';
export * from './tenancy.module.js';
export * from './callers.js';
