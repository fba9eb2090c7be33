import { ERROR_TABLE, type ErrorCode } from './error-messages.js';

/** One fault of a request: in the body (`pointer`, RFC 6901) or in the query or path (`parameter`). */
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
  /** Each fault of a field or parameter, if known. */
  readonly errors?: readonly Violation[];
  /** Response headers that belong to the error, such as `Allow`. */
  readonly headers: Readonly<Record<string, string>> = {};

  /** @param detail a sentence that tells the client what to do */
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

  /**
   * A short text that is the same for every error with the code.
   *
   * @default the one in the table of error messages
   */
  get title(): string {
    return this.row.title;
  }

  private get row(): { status: number; title: string } {
    return ERROR_TABLE[this.code as ErrorCode] ?? ERROR_TABLE.INTERNAL_ERROR;
  }
}
