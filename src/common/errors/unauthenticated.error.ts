import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request without the credentials that it needs (RFC 6750, section 3). */
export class UnauthenticatedError extends DomainError {
  readonly code = 'UNAUTHENTICATED';
  override readonly headers = { 'WWW-Authenticate': 'Bearer' };

  constructor() {
    super(errorMessages.unauthenticated);
  }
}
