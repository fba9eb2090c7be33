import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request with an `Idempotency-Key` that another body was sent with before. */
export class IdempotencyKeyReusedError extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super(errorMessages.idempotencyKeyReused);
  }
}
