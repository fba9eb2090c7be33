import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A body over the limit, by itself or merged into its record. */
export class BodyTooLargeError extends DomainError {
  readonly code = 'BODY_TOO_LARGE';

  /**
   * @param limit the maximum size of a body. Unit: bytes.
   * @param detail what is larger than that
   */
  constructor(limit: number, detail = errorMessages.bodyTooLarge(limit), options?: ErrorOptions) {
    super(detail, options);
  }
}
