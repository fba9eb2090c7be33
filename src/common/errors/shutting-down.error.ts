import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The process is shutting down. Another process, or the next one, will answer. */
export class ShuttingDownError extends DomainError {
  readonly code = 'SHUTTING_DOWN';
  override readonly headers = { 'Retry-After': '1' };

  constructor() {
    super(errorMessages.shuttingDown);
  }
}
