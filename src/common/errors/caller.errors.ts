import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A request without the credentials that it needs (RFC 6750, section 3). */
export class UnauthenticatedError extends DomainError {
  readonly code = 'UNAUTHENTICATED';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param byToken whether a bearer token would help; otherwise, code of the application knows the callers */
  constructor(byToken = true) {
    super(byToken ? errorMessages.unauthenticated : errorMessages.unidentified);
    this.headers = byToken ? { 'WWW-Authenticate': 'Bearer' } : {};
  }
}

/** The request has a token that is not valid (RFC 6750, section 3.1). */
export class InvalidTokenError extends DomainError {
  readonly code = 'INVALID_TOKEN';
  override readonly headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };

  /** @param reason a word for the log only: clients cannot tell why a token is not valid */
  constructor(readonly reason: string) {
    super(errorMessages.invalidToken);
  }
}

/** The token is valid, but was issued without the scope that the service requires (RFC 6750, section 3.1). */
export class InsufficientScopeError extends DomainError {
  readonly code = 'INSUFFICIENT_SCOPE';
  override readonly headers: Readonly<Record<string, string>>;

  constructor(scope: string) {
    super(errorMessages.insufficientScope(scope));
    this.headers = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` };
  }
}

/** The credentials are valid but name no tenant. */
export class TenantRequiredError extends DomainError {
  readonly code = 'TENANT_REQUIRED';

  /** @param claim name of the token claim that should contain the tenant */
  constructor(claim: string) {
    super(errorMessages.tenantRequired(claim));
  }
}

/** A valid token that lacks a claim that isolates the action. */
export class ClaimRequiredError extends DomainError {
  readonly code = 'CLAIM_REQUIRED';

  /** @param claim name of the claim */
  constructor(claim: string) {
    super(errorMessages.claimRequired(claim));
  }
}

/** The key set that verifies tokens cannot be fetched, so tokens cannot be checked. */
export class AuthenticationUnavailableError extends DomainError {
  readonly code = 'AUTHENTICATION_UNAVAILABLE';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.authenticationUnavailable, options);
  }
}
