import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A token was sent and does not verify (RFC 6750, section 3.1). */
export class InvalidTokenError extends DomainError {
  readonly code = 'INVALID_TOKEN';
  override readonly headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };

  /** @param reason a word for the log alone: to a client, every token that does not verify is the same */
  constructor(readonly reason: string) {
    super(errorMessages.invalidToken);
  }
}
