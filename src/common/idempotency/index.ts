export * from './reservation.js';
export { IdempotencyKeys, type Replay } from './idempotency-keys.js';
export * from './idempotency.interceptor.js';
export { isOfSameClaims } from './idempotent-exchange.js';
