import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** No credentials were sent where they are needed (RFC 6750, section 3). */
export class UnauthenticatedError extends DomainError {
  readonly code = 'UNAUTHENTICATED';
  override readonly headers = { 'WWW-Authenticate': 'Bearer' };

  constructor() {
    super(errorMessages.unauthenticated);
  }
}
