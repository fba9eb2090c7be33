import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The path exists, but not with this method (RFC 9110, section 15.5.6). */
export class MethodNotAllowedError extends DomainError {
  readonly code = 'METHOD_NOT_ALLOWED';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param allow the methods that the path accepts */
  constructor(method: string, allow: readonly string[]) {
    super(errorMessages.methodNotAllowed(method, allow));
    this.headers = { Allow: allow.join(', ') };
  }
}
