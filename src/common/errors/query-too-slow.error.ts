import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A query takes the database longer than allowed. */
export class QueryTooSlowError extends DomainError {
  readonly code = 'QUERY_TOO_SLOW';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.queryTooSlow, options);
  }
}
