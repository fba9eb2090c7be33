import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The token is valid, but was issued without the scope that the service requires (RFC 6750, section 3.1). */
export class InsufficientScopeError extends DomainError {
  readonly code = 'INSUFFICIENT_SCOPE';
  override readonly headers: Readonly<Record<string, string>>;

  constructor(scope: string) {
    super(errorMessages.insufficientScope(scope));
    this.headers = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` };
  }
}
