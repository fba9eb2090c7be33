import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The request has a token that is not valid (RFC 6750, section 3.1). */
export class InvalidTokenError extends DomainError {
  readonly code = 'INVALID_TOKEN';
  override readonly headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };

  /** @param reason a word for the log only: clients cannot tell why a token is not valid */
  constructor(readonly reason: string) {
    super(errorMessages.invalidToken);
  }
}
