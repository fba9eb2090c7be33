import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A tenant has as many streams open as it may. */
export class TooManyStreamsError extends DomainError {
  readonly code = 'TOO_MANY_STREAMS';
  override readonly headers = { 'Retry-After': '10' };

  /** @param max how many it may have */
  constructor(max: number) {
    super(errorMessages.tooManyStreams(max));
  }
}
