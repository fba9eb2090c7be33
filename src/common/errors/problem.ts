import { DomainError, type Violation } from './domain.error.js';
import { ERROR_TABLE, type ErrorCode } from './error-messages.js';

/** Media type of every error body (RFC 9457). */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** The body of every error (RFC 9457, section 3, and contract section 9). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  /** The same text as `detail`. */
  message: string;
  requestId: string;
  errors?: readonly Violation[];
}

/** Builds the body of an error for one request. */
export function toProblem(error: DomainError, request: { path: string; id: string }): Problem {
  const { status, title } = ERROR_TABLE[error.code];
  return {
    type: `urn:problem:${error.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    detail: error.detail,
    instance: request.path,
    code: error.code,
    message: error.detail,
    requestId: request.id,
    ...(error.errors && { errors: error.errors }),
  };
}
