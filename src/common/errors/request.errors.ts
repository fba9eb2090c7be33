import { DomainError, type Violation } from './domain.error.js';
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

/** A request that cannot be read at all: broken JSON, broken URL. */
export class MalformedRequestError extends DomainError {
  readonly code = 'MALFORMED_REQUEST';
}

/** Maximum number of faults in one response. */
const MAX_ERRORS = 50;
/** Maximum length of a fault's name, and of its sentence, whatever the client has sent. Unit: characters. */
const MAX_NAME = 1_000;
const MAX_DETAIL = 2_000;

/** A body, query or path that does not have the declared shape. */
export class ValidationError extends DomainError {
  readonly code = 'VALIDATION_FAILED';
  override readonly errors: readonly Violation[];

  /** @param errors each fault; at least one */
  constructor(errors: readonly [Violation, ...Violation[]], options?: ErrorOptions) {
    const [first, ...others] = errors.slice(0, MAX_ERRORS).map(shortened) as [Violation, ...Violation[]];
    super(errorMessages.validationFailed(errors.length, first.detail), options);
    this.errors = [first, ...others];
  }
}

function shortened({ detail, ...where }: Violation): Violation {
  const [[kind, name]] = Object.entries(where) as [['pointer' | 'parameter', string]];
  return { [kind]: cut(name, MAX_NAME), detail: cut(detail, MAX_DETAIL) } as Violation;
}

/** The beginning and the end of a text, which says what is allowed. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max / 2)}…${text.slice(-max / 2)}`;
}

/** An id in the path that is not an object identifier. */
export class InvalidIdError extends DomainError {
  readonly code = 'INVALID_ID';
  override readonly errors: readonly Violation[];

  /** @param parameter name of the path parameter */
  constructor(parameter: string) {
    super(errorMessages.invalidId);
    this.errors = [{ parameter, detail: errorMessages.invalidId }];
  }
}

/** A body over the limit, by itself or merged into its record. */
export class BodyTooLargeError extends DomainError {
  readonly code = 'BODY_TOO_LARGE';

  /**
   * @param limit the maximum size of a body. Unit: bytes.
   * @param detail what is larger than that
   */
  constructor(limit: number, detail = errorMessages.bodyTooLarge(limit), options?: ErrorOptions) {
    super(detail, options);
  }
}

/** A body in a content type that the path does not accept. */
export class UnsupportedMediaTypeError extends DomainError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param allowed the content types that the path accepts */
  constructor(allowed: readonly string[]) {
    super(errorMessages.unsupportedMediaType(allowed));
    this.headers = { Accept: allowed.join(', ') };
  }
}

/** A body that is compressed or otherwise encoded (RFC 9110, section 8.4). */
export class UnsupportedContentCodingError extends DomainError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
  override readonly headers = { 'Accept-Encoding': 'identity' };

  constructor() {
    super(errorMessages.unsupportedContentCoding);
  }
}

/** No route has the requested path. */
export class PathNotFoundError extends DomainError {
  readonly code = 'PATH_NOT_FOUND';

  /** @param hasExplorer whether the service shows its paths at /docs */
  constructor(hasExplorer = true) {
    super(errorMessages.pathNotFound(hasExplorer));
  }
}

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

/** A stream that should resume after an event that its tenant does not have. */
export class UnknownEventError extends DomainError {
  readonly code = 'UNKNOWN_EVENT';

  constructor() {
    super(errorMessages.unknownEvent);
  }
}
