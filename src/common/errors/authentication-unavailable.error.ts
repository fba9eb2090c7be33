import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The key set that verifies tokens cannot be fetched, so tokens cannot be checked. */
export class AuthenticationUnavailableError extends DomainError {
  readonly code = 'AUTHENTICATION_UNAVAILABLE';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.authenticationUnavailable, options);
  }
}
