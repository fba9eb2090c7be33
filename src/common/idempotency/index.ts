export * from './reservation.js';
export { IdempotencyInterceptor, Unkept } from './idempotency.interceptor.js';
export type { KeptAnswer } from './idempotency-key.schema.js';
export { IdempotencyKeys } from './idempotency-keys.js';
export * from './idempotency.module.js';
export { isOfSameClaims } from './idempotent-exchange.js';
export type { InsertSteps, Reservation } from './reservation.js';
