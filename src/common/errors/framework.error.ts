import { DomainError } from './domain.error.js';
import type { ErrorCode } from './error-messages.js';

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
