export * from './current-reservation.js';
export { IdempotencyInterceptor, Unkept } from './idempotency.interceptor.js';
export * from './idempotency.module.js';
export { type InsertSteps, type Reservation, reservationOf } from './reservation.js';
