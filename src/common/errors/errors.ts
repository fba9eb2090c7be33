import { ERROR_TABLE, type ErrorCode, errorMessages, messageOf } from './error-messages.js';

/** One violation of a request: in the body (`pointer`, RFC 6901) or in the query or path (`parameter`). */
export type Violation = { pointer: string; detail: string } | { parameter: string; detail: string };

/** An {@link ErrorCode}, or the upper-case word of one of your own exceptions. */
export type ProblemCode = ErrorCode | (string & {});

/**
 * An error that a client is meant to see. Throw its subclasses; the problem filter turns them into
 * `application/problem+json`.
 */
export abstract class DomainError extends Error {
  /** The stable upper-case word of the error. */
  abstract readonly code: ProblemCode;
  /** Each violation of a field or parameter, if known. */
  readonly errors?: readonly Violation[] | undefined;
  /** Response headers that belong to the error, such as `Allow`. */
  readonly headers: Readonly<Record<string, string>> = {};

  /** @param detail a message that tells the client what to do */
  constructor(
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    // Nobody reads where it was thrown, and a batch may have a thousand.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = new.target.name;
  }

  /** HTTP status of the response. @default the one in the table of error messages */
  get status(): number {
    return this.row.status;
  }

  /** A short text that is the same for every error with the code. @default the one in the table of error messages */
  get title(): string {
    return this.row.title;
  }

  private get row(): { status: number; title: string } {
    return ERROR_TABLE[this.code as ErrorCode] ?? ERROR_TABLE.INTERNAL_ERROR;
  }
}

/** When to try again after an error of a code. Unit: seconds. */
const RETRY_AFTER: Partial<Record<ErrorCode, string>> = {
  IDEMPOTENCY_KEY_IN_USE: '1',
  AUTHENTICATION_UNAVAILABLE: '5',
  DEADLINE_EXCEEDED: '5',
  DATABASE_UNAVAILABLE: '5',
  OVERLOADED: '5',
  QUERY_TOO_SLOW: '5',
  SHUTTING_DOWN: '1',
};

function retryOf(code: ErrorCode): Record<string, string> {
  const { [code]: after } = RETRY_AFTER;
  return after === undefined ? {} : { 'Retry-After': after };
}

/** Makes the class of a row of the error table. Its arguments are those of message and headers, or the options of `Error`. */
function coded<Args extends unknown[] = [options?: ErrorOptions]>(
  code: ErrorCode,
  detail: string | ((...args: Args) => string) = messageOf(code),
  headers: Readonly<Record<string, string>> | ((...args: Args) => Record<string, string>) = retryOf(code),
): new (...args: Args) => DomainError & { readonly code: ErrorCode } {
  return class extends DomainError {
    readonly code = code;
    override readonly headers: Readonly<Record<string, string>>;

    constructor(...args: Args) {
      const [options] = args;
      super(
        typeof detail === 'string' ? detail : detail(...args),
        typeof options === 'object' ? (options as ErrorOptions) : undefined,
      );
      this.headers = typeof headers === 'function' ? headers(...args) : headers;
    }
  };
}

// Of what the request asks for, and who asks.

/**
 * A request without the credentials that it needs (RFC 6750, section 3): by default a bearer token. With `false`, code
 * of the application knows the callers, and a token would not help.
 */
export class UnauthenticatedError extends coded<[byToken?: boolean]>(
  'UNAUTHENTICATED',
  (byToken = true) => (byToken ? errorMessages.unauthenticated : errorMessages.unidentified),
  (byToken = true): Record<string, string> => (byToken ? { 'WWW-Authenticate': 'Bearer' } : {}),
) {}

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
export class InsufficientScopeError extends coded(
  'INSUFFICIENT_SCOPE',
  errorMessages.insufficientScope,
  (scope) => ({ 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }),
) {}

/** The credentials are valid but name no tenant, in the claim that should contain it. */
export class TenantRequiredError extends coded('TENANT_REQUIRED', errorMessages.tenantRequired) {}

/** A valid token that lacks a claim that isolates the action. */
export class ClaimRequiredError extends coded('CLAIM_REQUIRED', errorMessages.claimRequired) {}

/** The key set that verifies tokens cannot be fetched, so tokens cannot be checked. */
export class AuthenticationUnavailableError extends coded('AUTHENTICATION_UNAVAILABLE') {}

/** A request that cannot be read at all: broken JSON, broken URL. */
export class MalformedRequestError extends DomainError {
  readonly code = 'MALFORMED_REQUEST';
}

/** Maximum number of violations in one response. */
const MAX_ERRORS = 50;
/** Maximum length of a violation's name, and of its message, whatever the client has sent. Unit: characters. */
const MAX_NAME = 1_000;
const MAX_DETAIL = 2_000;

/** A body, query or path that does not have the declared shape. */
export class ValidationError extends DomainError {
  readonly code = 'VALIDATION_FAILED';
  override readonly errors: readonly Violation[];

  /** @param errors each violation; at least one */
  constructor(errors: readonly [Violation, ...Violation[]], options?: ErrorOptions) {
    const [first, ...others] = errors.slice(0, MAX_ERRORS).map(shortened) as [Violation, ...Violation[]];
    super(errorMessages.validationFailed(errors.length, first.detail), options);
    this.errors = [first, ...others];
  }
}

/** A body with fields that the caller may not write. */
export class ForbiddenFieldError extends DomainError {
  readonly code = 'FORBIDDEN_FIELD';

  /** @param errors one of each field; at least one */
  constructor(override readonly errors: readonly Violation[]) {
    super(errors[0]?.detail ?? '');
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

/**
 * The JSON Pointer to a part of a body (RFC 6901): `toPointer(['items', 0, 'name'])` is `/items/0/name`, and
 * an empty list points to the body itself. `~` and `/` in a name are escaped (section 3).
 */
export function toPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
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

  /** @param limit maximum size of a body. Unit: bytes. */
  constructor(limit: number, detail = errorMessages.bodyTooLarge(limit), options?: ErrorOptions) {
    super(detail, options);
  }
}

/** A body in a content type other than those that the path accepts. */
export class UnsupportedMediaTypeError extends coded(
  'UNSUPPORTED_MEDIA_TYPE',
  errorMessages.unsupportedMediaType,
  (allowed) => ({ Accept: allowed.join(', ') }),
) {}

/** A body that is compressed or otherwise encoded (RFC 9110, section 8.4). */
export class UnsupportedContentCodingError extends coded(
  'UNSUPPORTED_MEDIA_TYPE',
  errorMessages.unsupportedContentCoding,
  { 'Accept-Encoding': 'identity' },
) {}

/** No route has the requested path. */
export class PathNotFoundError extends coded('PATH_NOT_FOUND') {}

/** The path exists, but accepts other methods (RFC 9110, section 15.5.6). */
export class MethodNotAllowedError extends coded(
  'METHOD_NOT_ALLOWED',
  errorMessages.methodNotAllowed,
  (_method, allow) => ({ Allow: allow.join(', ') }),
) {}

/** A stream that should resume after an event that its tenant does not have. */
export class UnknownEventError extends coded('UNKNOWN_EVENT') {}

// Of records.

/** No record matches: it does not exist, or belongs to another tenant, or is archived. Takes its name, such as "Post". */
export class RecordNotFoundError extends coded('RECORD_NOT_FOUND', errorMessages.recordNotFound) {}

/** A write whose `If-Match` does not name the record's current revision (RFC 9110, section 15.5.13). */
export class PreconditionFailedError extends coded('PRECONDITION_FAILED') {}

/** A write that depended on the record's latest state, which others changed each time in between. */
export class WriteConflictError extends coded('WRITE_CONFLICT') {}

/** A write that would repeat a unique value. */
export class DuplicateValueError extends DomainError {
  readonly code = 'DUPLICATE_VALUE';
  override readonly errors: readonly Violation[] | undefined;

  /** @param fields the fields whose combination must be unique */
  constructor(
    private readonly fields: readonly string[],
    options?: ErrorOptions,
  ) {
    const detail = errorMessages.duplicateValue(fields);
    super(detail, options);
    const named = fields.map((field) => ({ pointer: toPointer(field.split('.')), detail }));
    this.errors = named.length > 0 ? named : undefined;
  }

  /** The same error, naming only fields that a client may send. */
  among(inputFields: readonly string[]): DuplicateValueError {
    const named = this.fields.filter((field) => inputFields.includes(field.split('.', 1)[0] ?? field));
    return new DuplicateValueError(named, { cause: this.cause });
  }
}

/** A delete of a record that others refer to. Takes its name, and that of the resource that refers to it. */
export class StillReferencedError extends coded('STILL_REFERENCED', errorMessages.stillReferenced) {}

/** A request with an `Idempotency-Key` whose first request has not been answered yet. */
export class IdempotencyKeyInUseError extends coded('IDEMPOTENCY_KEY_IN_USE') {}

/** A request with an `Idempotency-Key` that was already used with another body. */
export class IdempotencyKeyReusedError extends coded('IDEMPOTENCY_KEY_REUSED') {}

// Of load, and of what the service depends on.

/** The process has as much work as it can do. */
export class OverloadedError extends coded('OVERLOADED') {}

/**
 * Which limit was reached: that of an address, of a tenant, of invalid tokens, one client's share of the process,
 * or what it stores with idempotency keys.
 */
export type RequestLimit = 'address' | 'tenant' | 'badTokens' | 'share' | 'keys';

/** A client sends more requests than allowed. */
export class TooManyRequestsError extends DomainError {
  readonly code = 'TOO_MANY_REQUESTS';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param retryAfter when to try again. Unit: seconds. */
  constructor(
    readonly limit: RequestLimit,
    retryAfter: number,
  ) {
    super(errorMessages.tooManyRequests[limit]);
    this.headers = { 'Retry-After': String(Math.max(1, retryAfter)) };
  }
}

/** What a client has as many of as it may: live streams, whole lists, imports. */
export type StreamKind = 'events' | 'lists' | 'imports';

const RETRY_AFTER_S: Readonly<Record<StreamKind, string>> = { events: '10', lists: '5', imports: '5' };

/** A client already has as many streams as allowed. */
export class TooManyStreamsError extends coded(
  'TOO_MANY_STREAMS',
  (kind: StreamKind, max: number) => errorMessages.tooManyStreams[kind](max),
  (kind) => ({ 'Retry-After': RETRY_AFTER_S[kind] }),
) {}

/** A tenant already has as many subscriptions as allowed. */
export class TooManySubscriptionsError extends coded(
  'TOO_MANY_SUBSCRIPTIONS',
  errorMessages.tooManySubscriptions,
) {}

/** A request could not be answered in time. */
export class DeadlineExceededError extends coded('DEADLINE_EXCEEDED') {}

/** A query takes the database longer than allowed. */
export class QueryTooSlowError extends coded('QUERY_TOO_SLOW') {}

/** A condition on the fields of referred records matches too many of them. */
export class QueryTooBroadError extends coded('QUERY_TOO_BROAD', errorMessages.queryTooBroad) {}

/** The database cannot be reached, or did not answer in time. */
export class DatabaseUnavailableError extends coded('DATABASE_UNAVAILABLE') {}

/** The database can be reached, but an operation took longer than its time limit. */
export class DatabaseTooSlowError extends DatabaseUnavailableError {}

/** An index of a resource is not there: one that the database cannot build, or the words of a search. */
export class IndexUnavailableError extends coded<[detail?: string]>(
  'INDEX_UNAVAILABLE',
  (detail = errorMessages.indexUnavailable) => detail,
) {}

/** An operation of a unit of work of which another one has failed. */
export class NotCarriedOutError extends coded('NOT_CARRIED_OUT') {}

/** The database is a standalone server of MongoDB, which has no transactions. */
export class TransactionsUnavailableError extends coded('TRANSACTIONS_UNAVAILABLE') {}

/** The process is shutting down. Another process, or the next one, will answer. */
export class ShuttingDownError extends coded('SHUTTING_DOWN') {}

/** An error that the framework raised before or around a handler, in the service's own words. */
export class FrameworkError extends DomainError {
  /**
   * @param code the row of the error table that it belongs to
   * @param detail by default, the message that the code always has
   */
  constructor(
    readonly code: ErrorCode,
    detail = messageOf(code),
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

/** An error with a status, raised by the HTTP server or one of its plugins. Its text is not meant for clients. */
export class ServerRejectionError extends Error {
  /** @param statusCode status that the server meant to respond with */
  constructor(
    readonly statusCode: number,
    cause: unknown,
  ) {
    super(`The server rejected the request with ${statusCode}.`, { cause });
    this.name = 'ServerRejectionError';
  }
}
