import { ERROR_TABLE, type ErrorCode, errorMessages, messageOf } from './error-messages.js';

/** One violation of a request: in the body (`pointer`, RFC 6901) or in the query or path (`parameter`). */
export type Violation = { pointer: string; detail: string } | { parameter: string; detail: string };

/** An {@link ErrorCode}, or the upper-case word of one of your own exceptions. */
export type ProblemCode = ErrorCode | (string & {});

/** What an error may have besides its code and message. */
export interface ErrorDetails extends ErrorOptions {
  /** Each violation of a field or parameter, if known. */
  readonly errors?: readonly Violation[] | undefined;
  /** Response headers that belong to the error, such as `Allow`. @default when to try again, for some codes */
  readonly headers?: Readonly<Record<string, string>>;
  /** HTTP status of the response. @default the one of the code */
  readonly status?: number;
  /** A short text that is the same for every error with the code. @default the one of the code */
  readonly title?: string;
}

/** An error that a client is meant to see: the problem filter turns it into `application/problem+json`. */
export class DomainError extends Error implements ErrorDetails {
  readonly errors: readonly Violation[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly title: string;

  /**
   * @param code the stable upper-case word of the error
   * @param detail a message that tells the client what to do. By default, the message that the code always has.
   */
  constructor(
    readonly code: ProblemCode,
    readonly detail = messageOf(code),
    { cause, errors, headers, status, title }: ErrorDetails = {},
  ) {
    // Nobody reads where it was thrown, and a batch may have a thousand.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = new.target.name;
    const row = ERROR_TABLE[code as ErrorCode] ?? ERROR_TABLE.INTERNAL_ERROR;
    this.errors = errors;
    this.status = status ?? row.status;
    this.headers = headers ?? retryOf(code, this.status);
    this.title = title ?? row.title;
  }
}

/** When to try again after an error of a code; after another one with a 503, in 5 seconds. Unit: seconds. */
const RETRY_AFTER: Readonly<Record<string, string>> = {
  IDEMPOTENCY_KEY_IN_USE: '1',
  SHUTTING_DOWN: '1',
  TOO_MANY_STREAMS: '5',
} satisfies Partial<Record<ErrorCode, string>>;

function retryOf(code: string, status: number): Record<string, string> {
  const { [code]: after = status === 503 ? '5' : undefined } = RETRY_AFTER;
  return after === undefined ? {} : { 'Retry-After': after };
}

/** Makes the class of a code: with its message and headers, or that which the code always has. */
function coded<Args extends unknown[] = [details?: ErrorDetails]>(
  code: ErrorCode,
  detailOf?: (...args: Args) => string,
  headersOf?: (...args: Args) => Record<string, string>,
): new (...args: Args) => DomainError {
  return class extends DomainError {
    constructor(...args: Args) {
      if (detailOf) super(code, detailOf(...args), headersOf && { headers: headersOf(...args) });
      else super(code, undefined, args[0] as ErrorDetails | undefined);
    }
  };
}

// Classes of which the table of errors, and the message, say all.
export class AuthenticationUnavailableError extends coded('AUTHENTICATION_UNAVAILABLE') {}
export class PathNotFoundError extends coded('PATH_NOT_FOUND') {}
export class IdempotencyKeyInUseError extends coded('IDEMPOTENCY_KEY_IN_USE') {}
export class OverloadedError extends coded('OVERLOADED') {}
export class QueryTooSlowError extends coded('QUERY_TOO_SLOW') {}
export class DatabaseUnavailableError extends coded('DATABASE_UNAVAILABLE') {}
export class ShuttingDownError extends coded('SHUTTING_DOWN') {}
export class TenantRequiredError extends coded('TENANT_REQUIRED', errorMessages.tenantRequired) {}
export class ClaimRequiredError extends coded('CLAIM_REQUIRED', errorMessages.claimRequired) {}
export class StillReferencedError extends coded('STILL_REFERENCED', errorMessages.stillReferenced) {}
export class QueryTooBroadError extends coded('QUERY_TOO_BROAD', errorMessages.queryTooBroad) {}

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
  /** @param reason a word for the log only: clients cannot tell why a token is not valid */
  constructor(readonly reason: string) {
    const headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
    super('INVALID_TOKEN', errorMessages.invalidToken, { headers });
  }
}

/** The token is valid, but was issued without the scope that the service requires (RFC 6750, section 3.1). */
export class InsufficientScopeError extends coded(
  'INSUFFICIENT_SCOPE',
  errorMessages.insufficientScope,
  (scope) => ({ 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }),
) {}

/** A request that cannot be read at all: broken JSON, broken URL. */
export class MalformedRequestError extends coded('MALFORMED_REQUEST', (detail: string) => detail) {}

/** Maximum number of violations in one response. */
export const MAX_VIOLATIONS = 50;
/** Maximum length of a violation's name, and of its message, whatever the client has sent. Unit: characters. */
const MAX_NAME = 1_000;
const MAX_DETAIL = 2_000;

/** A body, query or path that does not have the declared shape. */
export class ValidationError extends DomainError {
  declare readonly errors: readonly Violation[];

  /** @param errors each violation; at least one */
  constructor(errors: readonly [Violation, ...Violation[]], options?: ErrorOptions) {
    const shown = errors.slice(0, MAX_VIOLATIONS).map(shortened) as [Violation, ...Violation[]];
    const detail = errorMessages.validationFailed(errors.length, shown[0].detail);
    super('VALIDATION_FAILED', detail, { ...options, errors: shown });
  }
}

/** A body with fields that the caller may not write. */
export class ForbiddenFieldError extends DomainError {
  /** @param errors one of each field; at least one */
  constructor(errors: readonly Violation[]) {
    super('FORBIDDEN_FIELD', errors[0]?.detail, { errors });
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

/** The JSON Pointer to a part of a body (RFC 6901): `toPointer(['items', 0, 'name'])` is `/items/0/name`. */
export function toPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** An id in the path that is not an object identifier. */
export class InvalidIdError extends DomainError {
  /** @param parameter name of the path parameter */
  constructor(parameter: string) {
    const detail = errorMessages.invalidId;
    super('INVALID_ID', detail, { errors: [{ parameter, detail }] });
  }
}

/** A body over the limit, by itself or merged into its record. */
export class BodyTooLargeError extends DomainError {
  /** @param limit maximum size of a body. Unit: bytes. */
  constructor(limit: number, detail = errorMessages.bodyTooLarge(limit), options?: ErrorOptions) {
    super('BODY_TOO_LARGE', detail, options);
  }
}

/** A body in a content type other than those that the path accepts. */
export class UnsupportedMediaTypeError extends coded(
  'UNSUPPORTED_MEDIA_TYPE',
  errorMessages.unsupportedMediaType,
  (allowed) => ({ Accept: allowed.join(', ') }),
) {}

/** The path exists, but accepts other methods (RFC 9110, section 15.5.6). */
export class MethodNotAllowedError extends coded(
  'METHOD_NOT_ALLOWED',
  errorMessages.methodNotAllowed,
  (_method, allow) => ({ Allow: allow.join(', ') }),
) {}

// Of records.

/** No record matches: it does not exist, or belongs to another tenant, or is archived. Takes its name, such as "Post". */
export class RecordNotFoundError extends coded('RECORD_NOT_FOUND', errorMessages.recordNotFound) {}

/** A write whose `If-Match` does not name the record's current revision (RFC 9110, section 15.5.13). */
export class PreconditionFailedError extends coded('PRECONDITION_FAILED') {}

/** A write that depended on the record's latest state, which others changed each time in between. */
export class WriteConflictError extends coded('WRITE_CONFLICT') {}

/** A write that would repeat a unique value. */
export class DuplicateValueError extends DomainError {
  /** @param fields the fields whose combination must be unique */
  constructor(
    private readonly fields: readonly string[],
    options?: ErrorOptions,
  ) {
    const detail = errorMessages.duplicateValue(fields);
    const errors = fields.map((field) => ({ pointer: toPointer(field.split('.')), detail }));
    super('DUPLICATE_VALUE', detail, { ...options, errors: errors.length > 0 ? errors : undefined });
  }

  /** The same error, naming only fields that a client may send. */
  among(inputFields: readonly string[]): DuplicateValueError {
    const named = this.fields.filter((field) => inputFields.includes(field.split('.', 1)[0] ?? field));
    return new DuplicateValueError(named, { cause: this.cause });
  }
}

// Of load, and of what the service depends on.

/** Which limit was reached. */
export type RequestLimit = keyof typeof errorMessages.tooManyRequests;

/** A client sends more requests than allowed. */
export class TooManyRequestsError extends DomainError {
  /** @param retryAfter when to try again. Unit: seconds. */
  constructor(
    readonly limit: RequestLimit,
    retryAfter: number,
  ) {
    const headers = { 'Retry-After': String(Math.max(1, retryAfter)) };
    super('TOO_MANY_REQUESTS', errorMessages.tooManyRequests[limit], { headers });
  }
}

/** A client already has as many streams as allowed. */
export class TooManyStreamsError extends coded(
  'TOO_MANY_STREAMS',
  (kind: keyof typeof errorMessages.tooManyStreams, max: number) => errorMessages.tooManyStreams[kind](max),
) {}

/** A tenant already has as many subscriptions as allowed. */
export class TooManySubscriptionsError extends coded(
  'TOO_MANY_SUBSCRIPTIONS',
  errorMessages.tooManySubscriptions,
) {}

/** The database can be reached, but an operation took longer than its time limit. */
export class DatabaseTooSlowError extends DatabaseUnavailableError {}

/** An index of a resource is not there: one that the database cannot build, or the words of a search. */
export class IndexUnavailableError extends coded<[detail?: string]>(
  'INDEX_UNAVAILABLE',
  (detail = errorMessages.indexUnavailable) => detail,
) {}
