import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A body over the limit. */
export class BodyTooLargeError extends DomainError {
  readonly code = 'BODY_TOO_LARGE';

  /** @param limit the maximum size of a body. Unit: bytes. */
  constructor(limit: number) {
    super(errorMessages.bodyTooLarge(limit));
  }
}
