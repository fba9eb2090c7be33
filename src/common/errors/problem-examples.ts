import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { type DomainError, type Problem, toProblem } from './domain.error.js';
import { ERROR_TABLE, type ErrorCode, errorMessages } from './error-messages.js';
import { FeatureError } from './feature.error.js';
import {
  DatabaseUnavailableError,
  DeadlineExceededError,
  IndexUnavailableError,
  OverloadedError,
  QueryTooSlowError,
  ShuttingDownError,
  TooManyRequestsError,
  TooManyStreamsError,
  TooManySubscriptionsError,
} from './load.errors.js';
import {
  DuplicateValueError,
  IdempotencyKeyInUseError,
  IdempotencyKeyReusedError,
  PreconditionFailedError,
  RecordNotFoundError,
  StillReferencedError,
  WriteConflictError,
} from './record.errors.js';
import {
  AuthenticationUnavailableError,
  BodyTooLargeError,
  ClaimRequiredError,
  InsufficientScopeError,
  InvalidIdError,
  InvalidTokenError,
  MalformedRequestError,
  MethodNotAllowedError,
  PathNotFoundError,
  TenantRequiredError,
  UnauthenticatedError,
  UnknownEventError,
  UnsupportedMediaTypeError,
  ValidationError,
} from './request.errors.js';
import { FrameworkError } from './to-domain-error.js';

/** Route details for its examples. */
export interface ExampleContext {
  /** Name of the record for clients. @default "Record" */
  label?: string;
  /** The content types of the body. @default JSON */
  contentTypes?: readonly string[];
  /** Name of the path parameter that contains an identifier. @default "id" */
  idName?: string;
}

const REQUEST_ID = '4b5a9a5e-0d0c-4f0e-9a53-4c1f6d1f2b7e';

/** One realistic error of each code. */
const EXAMPLES: Readonly<Record<ErrorCode, (context: Required<ExampleContext>) => DomainError>> = {
  MALFORMED_REQUEST: () => new MalformedRequestError(errorMessages.malformedJson),
  VALIDATION_FAILED: () =>
    new ValidationError([{ parameter: 'colour', detail: errorMessages.unknownParameter('colour', []) }]),
  INVALID_ID: ({ idName }) => new InvalidIdError(idName),
  UNKNOWN_EVENT: () => new UnknownEventError(),
  UNAUTHENTICATED: () => new UnauthenticatedError(),
  INVALID_TOKEN: () => new InvalidTokenError('ERR_JWT_EXPIRED'),
  INSUFFICIENT_SCOPE: () => new InsufficientScopeError('posts'),
  TENANT_REQUIRED: () => new TenantRequiredError('tenant'),
  CLAIM_REQUIRED: () => new ClaimRequiredError('sub'),
  RECORD_NOT_FOUND: ({ label }) => new RecordNotFoundError(label),
  PATH_NOT_FOUND: () => new PathNotFoundError(),
  METHOD_NOT_ALLOWED: () => new MethodNotAllowedError('DELETE', ['GET', 'HEAD', 'POST']),
  REQUEST_TIMEOUT: () => new FrameworkError('REQUEST_TIMEOUT', errorMessages.requestTimeout),
  STILL_REFERENCED: ({ label }) => new StillReferencedError(label.toLowerCase(), 'other records'),
  WRITE_CONFLICT: () => new WriteConflictError(),
  IDEMPOTENCY_KEY_IN_USE: () => new IdempotencyKeyInUseError(),
  DUPLICATE_VALUE: () => new DuplicateValueError(['name']),
  TOO_MANY_SUBSCRIPTIONS: () => new TooManySubscriptionsError(100),
  PRECONDITION_FAILED: () => new PreconditionFailedError(),
  BODY_TOO_LARGE: () => new BodyTooLargeError(1_048_576),
  URI_TOO_LONG: () => new FrameworkError('URI_TOO_LONG', errorMessages.uriTooLong),
  UNSUPPORTED_MEDIA_TYPE: ({ contentTypes }) => new UnsupportedMediaTypeError(contentTypes),
  EXPECTATION_FAILED: () => new FrameworkError('EXPECTATION_FAILED', errorMessages.expectationFailed),
  IDEMPOTENCY_KEY_REUSED: () => new IdempotencyKeyReusedError(),
  TOO_MANY_REQUESTS: () => new TooManyRequestsError('tenant', 30),
  TOO_MANY_STREAMS: () => new TooManyStreamsError('events', 10),
  HEADERS_TOO_LARGE: () => new FrameworkError('HEADERS_TOO_LARGE', errorMessages.headersTooLarge),
  INTERNAL_ERROR: () => new FrameworkError('INTERNAL_ERROR', errorMessages.internalError),
  AUTHENTICATION_UNAVAILABLE: () => new AuthenticationUnavailableError(),
  DEADLINE_EXCEEDED: () => new DeadlineExceededError(),
  DATABASE_UNAVAILABLE: () => new DatabaseUnavailableError(),
  INDEX_UNAVAILABLE: () => new IndexUnavailableError(),
  OVERLOADED: () => new OverloadedError(),
  QUERY_TOO_SLOW: () => new QueryTooSlowError(),
  SHUTTING_DOWN: () => new ShuttingDownError(),
};

/**
 * The body of an error as an example in the document. Its `instance` is empty until the document is put
 * together, since the path is not known before.
 *
 * @param problem a code of the service, or the status of one of your own exceptions
 */
export function problemExample(
  problem: ErrorCode | number,
  { label = 'Record', contentTypes = ['application/json'], idName = 'id' }: ExampleContext,
): Problem {
  const error =
    typeof problem === 'number'
      ? new FeatureError(new HttpException(STATUS_CODES[problem] ?? 'Error', problem))
      : EXAMPLES[problem]({ label, contentTypes, idName });
  return toProblem(error, { path: '', id: REQUEST_ID });
}

/** The name and summary of an example. */
export function nameOfProblem(problem: ErrorCode | number): { status: number; title: string; name: string } {
  if (typeof problem !== 'number') return { ...ERROR_TABLE[problem], name: problem };
  return { status: problem, title: STATUS_CODES[problem] ?? 'Error', name: problemExample(problem, {}).code };
}
