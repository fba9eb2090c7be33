import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A stream that should resume after an event that its tenant does not have. */
export class UnknownEventError extends DomainError {
  readonly code = 'UNKNOWN_EVENT';

  constructor() {
    super(errorMessages.unknownEvent);
  }
}
