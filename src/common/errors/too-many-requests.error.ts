import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/**
 * Which limit was reached: that of an address, of a tenant, of invalid tokens, one client's share of the process,
 * or what it stores with idempotency keys.
 */
export type RequestLimit = 'address' | 'tenant' | 'badTokens' | 'share' | 'keys';

/** A client sends more requests than allowed. */
export class TooManyRequestsError extends DomainError {
  readonly code = 'TOO_MANY_REQUESTS';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param retryAfter when to try again. Unit: seconds. */
  constructor(
    readonly limit: RequestLimit,
    retryAfter: number,
  ) {
    super(errorMessages.tooManyRequests[limit]);
    this.headers = { 'Retry-After': String(Math.max(1, retryAfter)) };
  }
}
