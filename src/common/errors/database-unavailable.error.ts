import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The database cannot be reached, or did not answer in time. */
export class DatabaseUnavailableError extends DomainError {
  readonly code = 'DATABASE_UNAVAILABLE';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.databaseUnavailable, options);
  }
}
