import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A client reads as many whole lists at a time as it may. */
export class TooManyListsError extends DomainError {
  readonly code = 'TOO_MANY_STREAMS';
  override readonly headers = { 'Retry-After': '5' };

  /** @param max how many it may read */
  constructor(max: number) {
    super(errorMessages.tooManyLists(max));
  }
}
