import { ERROR_TABLE, type ErrorCode } from './error-messages.js';

/** One fault of a request: in the body (`pointer`, RFC 6901) or in the query or path (`parameter`). */
export type Violation = { pointer: string; detail: string } | { parameter: string; detail: string };

/** An {@link ErrorCode}, or the upper-case word of an exception that a feature threw. */
export type ProblemCode = ErrorCode | (string & {});

/**
 * An error that a client is meant to see. Features throw its subclasses; the problem filter turns them into
 * `application/problem+json`.
 */
export abstract class DomainError extends Error {
  /** The stable upper-case word of the error. */
  abstract readonly code: ProblemCode;
  /** Each fault of a field or parameter, if they are known. */
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

  /** HTTP status of the answer. @default the one that the table of error messages gives the code */
  get status(): number {
    return this.row.status;
  }

  /** A short text that is the same for every error of the code. @default the one of the table of error messages */
  get title(): string {
    return this.row.title;
  }

  private get row(): { status: number; title: string } {
    return ERROR_TABLE[this.code as ErrorCode] ?? ERROR_TABLE.INTERNAL_ERROR;
  }
}
