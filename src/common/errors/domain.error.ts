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

/** Media type of every error body (RFC 9457). */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** The body of every error: the members of RFC 9457, section 3.1, and four additional ones (section 3.2). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  /** The stable upper-case word of the error. */
  code: ProblemCode;
  /** The same text as `detail`. */
  message: string;
  /** Identifies the request in the log. */
  requestId: string;
  /** Each fault of the request, if known. */
  errors?: readonly Violation[];
}

/** Builds the body of an error for one request. */
export function toProblem(error: DomainError, request: { path: string; id: string }): Problem {
  return {
    type: `urn:problem:${error.code.toLowerCase().replaceAll('_', '-')}`,
    title: error.title,
    status: error.status,
    detail: error.detail,
    instance: request.path,
    code: error.code,
    message: error.detail,
    requestId: request.id,
    ...(error.errors && { errors: error.errors }),
  };
}

/** Whether a value names an error for the documentation: a code of the table, or a status of your own. */
export function isProblem(value: unknown): value is ErrorCode | number {
  if (typeof value === 'number') return Number.isInteger(value) && value >= 400 && value <= 599;
  return typeof value === 'string' && Object.hasOwn(ERROR_TABLE, value);
}

/**
 * The path of a request's URL, without its query. Errors, links and the log omit the query because it may be
 * secret.
 */
export function pathOf({ url }: { readonly url: string }): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
