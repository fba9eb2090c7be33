import { HttpException } from '@nestjs/common';
import { DomainError } from './domain.error.js';
import { ERROR_TABLE, type ErrorCode, errorMessages } from './error-messages.js';
import { FeatureError } from './feature.error.js';
import { BodyTooLargeError, PathNotFoundError } from './request.errors.js';

/**
 * Fastify's error codes that a client can cause (https://fastify.dev/docs/latest/Reference/Errors/), as rows of the
 * error table.
 */
const FASTIFY_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_BAD_URL: ['MALFORMED_REQUEST', errorMessages.malformedUrl],
  FST_ERR_MAX_PARAM_LENGTH: ['URI_TOO_LONG', errorMessages.uriTooLong],
};

/**
 * Turns anything that was thrown into an error that a client may see. A Nest exception keeps its status and
 * text. An unknown error becomes an internal error without any of the original text, which stays in `cause`
 * for the log.
 *
 * @param bodyLimit maximum size of the route's body. Unit: bytes.
 */
export function toDomainError(thrown: unknown, { bodyLimit }: { bodyLimit: number }): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (thrown instanceof HttpException && isErrorStatus(thrown.getStatus())) return new FeatureError(thrown);
  const known = FASTIFY_ERRORS[fastifyCode(thrown)];
  if (known) return new FrameworkError(...known, { cause: thrown });
  const status = serverStatusOf(thrown);
  // The explorer's file server forbids paths that lead out of its folder. For clients, they do not exist.
  if (status === 404 || status === 403) return new PathNotFoundError();
  if (status === 413) return new BodyTooLargeError(bodyLimit);
  if (status !== undefined && status >= 400 && status < 500) {
    const code = codeOfStatus(status) ?? 'MALFORMED_REQUEST';
    return new FrameworkError(code, errorMessages.malformedRequest, { cause: thrown });
  }
  return new FrameworkError('INTERNAL_ERROR', errorMessages.internalError, { cause: thrown });
}

/** Whether a status is an error status (RFC 9110, section 15). */
function isErrorStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;
}

function fastifyCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}

/** The status that Fastify or one of its plugins gave the error, if any. */
function serverStatusOf(thrown: unknown): number | undefined {
  if (thrown instanceof ServerRefusalError) return thrown.statusCode;
  const fromFastify =
    fastifyCode(thrown).startsWith('FST_') && (thrown as { statusCode?: number }).statusCode;
  return fromFastify || undefined;
}

function codeOfStatus(status: number): ErrorCode | undefined {
  return (Object.keys(ERROR_TABLE) as ErrorCode[]).find((code) => ERROR_TABLE[code].status === status);
}

/** An error that the framework raised before or around a handler, in the service's own words. */
export class FrameworkError extends DomainError {
  /** @param code the row of the error table that it belongs to */
  constructor(
    readonly code: ErrorCode,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

/**
 * An error with a status, raised by the HTTP server or one of its plugins. Its text is not meant for clients.
 */
export class ServerRefusalError extends Error {
  /** @param statusCode status that the server meant to answer with */
  constructor(
    readonly statusCode: number,
    cause: unknown,
  ) {
    super(`The server refused with ${statusCode}.`, { cause });
    this.name = 'ServerRefusalError';
  }
}
