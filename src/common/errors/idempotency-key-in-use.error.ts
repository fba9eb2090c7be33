import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request with an `Idempotency-Key` whose first request has not been answered yet. */
export class IdempotencyKeyInUseError extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_IN_USE';
  override readonly headers = { 'Retry-After': '1' };

  constructor() {
    super(errorMessages.idempotencyKeyInUse);
  }
}
