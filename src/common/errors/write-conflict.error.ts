import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A write that depended on the record's latest state, which others changed each time in between. */
export class WriteConflictError extends DomainError {
  readonly code = 'WRITE_CONFLICT';

  constructor() {
    super(errorMessages.writeConflict);
  }
}
