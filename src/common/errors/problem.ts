import type { DomainError, ProblemCode, Violation } from './domain.error.js';
import { ERROR_TABLE, type ErrorCode } from './error-messages.js';

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
