import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request could not be answered in time. */
export class DeadlineExceededError extends DomainError {
  readonly code = 'DEADLINE_EXCEEDED';
  override readonly headers = { 'Retry-After': '5' };

  constructor() {
    super(errorMessages.deadlineExceeded);
  }
}
