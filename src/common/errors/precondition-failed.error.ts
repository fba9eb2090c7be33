import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A write whose `If-Match` does not name the record's current revision (RFC 9110, section 15.5.13). */
export class PreconditionFailedError extends DomainError {
  readonly code = 'PRECONDITION_FAILED';

  constructor() {
    super(errorMessages.preconditionFailed);
  }
}
