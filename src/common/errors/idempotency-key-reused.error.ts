import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request with an `Idempotency-Key` that was already used with another body. */
export class IdempotencyKeyReusedError extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super(errorMessages.idempotencyKeyReused);
  }
}
