import type { ErrorCode } from './error-messages.js';

/** One fault of a request: in the body (`pointer`, RFC 6901) or in the query or path (`parameter`). */
export type Violation = { pointer: string; detail: string } | { parameter: string; detail: string };

/**
 * An error that a client is meant to see. Features throw its subclasses; the problem filter turns them into
 * `application/problem+json`.
 */
export abstract class DomainError extends Error {
  /** The stable upper-case word of the error; its status and title stand in the table of error messages. */
  abstract readonly code: ErrorCode;
  /** What was wrong with each field or parameter, where that is known. */
  readonly errors?: readonly Violation[];
  /** Response headers that belong to the error, such as `Allow`. */
  readonly headers: Readonly<Record<string, string>> = {};

  /** @param detail a sentence for the client that says what to do */
  constructor(
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.name = new.target.name;
  }
}
