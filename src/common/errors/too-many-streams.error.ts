import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A tenant already has as many open streams as allowed. */
export class TooManyStreamsError extends DomainError {
  readonly code = 'TOO_MANY_STREAMS';
  override readonly headers = { 'Retry-After': '10' };

  /** @param max number of streams allowed */
  constructor(max: number) {
    super(errorMessages.tooManyStreams(max));
  }
}
