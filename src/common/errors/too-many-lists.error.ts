import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A client is already reading as many whole lists as allowed. */
export class TooManyListsError extends DomainError {
  readonly code = 'TOO_MANY_STREAMS';
  override readonly headers = { 'Retry-After': '5' };

  /** @param max number of lists allowed */
  constructor(max: number) {
    super(errorMessages.tooManyLists(max));
  }
}
