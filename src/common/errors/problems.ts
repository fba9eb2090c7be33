import { STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import {
  BODY_LIMIT,
  type HttpRequest,
  type HttpResponse,
  idOf,
  isSent,
  pathOf,
  rawOf,
} from '../request/index.js';
import { ERROR_TABLE, type ErrorCode, errorMessages } from './error-messages.js';
import {
  BodyTooLargeError,
  DomainError,
  InvalidTokenError,
  MAX_VIOLATIONS,
  MalformedRequestError,
  OverloadedError,
  PathNotFoundError,
  type ProblemCode,
  type RequestLimit,
  ShuttingDownError,
  TooManyRequestsError,
  toPointer,
  type Violation,
} from './errors.js';
import { OUTAGE, reasonOf } from './log-text.js';
import type { Problem } from './problem-docs.js';

declare module '../request/index.js' {
  interface RequestState {
    /** Why the request was rejected, for the log. */
    crudProblem?: { code: ProblemCode; limit?: RequestLimit; reason?: string };
  }
}

const logger = new Logger('Problem');

/** Turns any thrown error into `application/problem+json` (RFC 9457), and logs the service's own errors. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(thrown, http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>());
  }
}

/** Answers a request with the problem that was thrown; for errors that arise outside Nest's handlers. */
export function sendProblem(thrown: unknown, request: HttpRequest, reply: HttpResponse): void {
  const { status, headers, body } = problemResponse(thrown, request);
  if (isSent(reply)) {
    const raw = rawOf(reply);
    // A complete response has already replaced this one, when the request was given up.
    if (!raw.writableEnded) raw.destroy();
    return;
  }
  reply.status(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  reply.send(body);
}

/** The response that {@link sendProblem} sends, for code that replaces a response that is being sent. */
export function problemResponse(thrown: unknown, request: HttpRequest) {
  const error = toDomainError(thrown, request.crudPlatform ?? { bodyLimit: BODY_LIMIT });
  const { status } = error;
  request.crudProblem = {
    code: error.code,
    ...(error instanceof TooManyRequestsError && { limit: error.limit }),
    ...(error instanceof InvalidTokenError && { reason: error.reason }),
  };
  // Where nothing failed, the request's log line says why it was rejected.
  const isShed = error instanceof OverloadedError || error instanceof ShuttingDownError;
  if (status >= 500 && !isShed && !rawOf(request).socket.destroyed) {
    logger.error({ requestId: idOf(request), code: error.code, ...causeOf(error) }, error.detail);
  }
  const problem = toProblem(error, { path: pathOf(request), id: idOf(request) });
  return {
    status,
    headers: { ...error.headers, ...PROBLEM_HEADERS },
    // As bytes: Fastify adds a charset to a string, a parameter that the media type does not have.
    body: Buffer.from(JSON.stringify(problem)),
  };
}

/** Full details for an error of the service itself, and the reason of a failing dependency. */
function causeOf({ status, cause }: DomainError): object {
  if (status === 500) return { error: cause };
  return { ...OUTAGE, reason: cause === undefined ? undefined : reasonOf(cause) };
}

/** Media type of every error body (RFC 9457). */
export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** Headers that every error has. */
export const PROBLEM_HEADERS = { 'Content-Type': PROBLEM_CONTENT_TYPE, 'Cache-Control': 'no-store' };

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
  return isErrorStatus(value) || (typeof value === 'string' && Object.hasOwn(ERROR_TABLE, value));
}

/**
 * Turns anything that was thrown into an error that a client may see. A Nest exception keeps its status and text; of an
 * unknown error, nothing but the log's `cause` is kept.
 */
export function toDomainError(thrown: unknown, { bodyLimit }: { bodyLimit: number }): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (thrown instanceof HttpException && isErrorStatus(thrown.getStatus())) return featureError(thrown);
  const { code, statusCode = 500 } = Object(thrown) as { code?: unknown; statusCode?: number };
  // https://fastify.dev/docs/latest/Reference/Errors/
  if (code === 'FST_ERR_BAD_URL') return new MalformedRequestError(errorMessages.malformedUrl);
  const isFastifys = thrown instanceof Error && typeof code === 'string' && code.startsWith('FST_');
  return serverRejection(isFastifys ? statusCode : 500, thrown, bodyLimit);
}

/** An error of the HTTP server or one of its plugins, whose text is not meant for clients. */
export function serverRejection(status: number, cause: unknown, bodyLimit = BODY_LIMIT): DomainError {
  // The explorer's file server forbids paths that lead out of its folder. For clients, they do not exist.
  if (status === 404 || status === 403) return new PathNotFoundError();
  if (status === 413) return new BodyTooLargeError(bodyLimit);
  if (status < 400 || status >= 500) return new DomainError('INTERNAL_ERROR', undefined, { cause });
  const codes = Object.keys(ERROR_TABLE) as ErrorCode[];
  const code = codes.find((name) => ERROR_TABLE[name].status === status) ?? 'MALFORMED_REQUEST';
  const { malformedRequest, uriTooLong } = errorMessages;
  return new DomainError(code, code === 'URI_TOO_LONG' ? uriTooLong : malformedRequest, { cause });
}

/** Whether a value is an error status (RFC 9110, section 15). */
function isErrorStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;
}

/** The stable word of an error, as in `code`. */
const CODE = /^[A-Z][A-Z0-9_]*$/;

/** A Nest exception that your own code threw. Clients see its status and text. */
export function featureError(exception: HttpException): DomainError {
  const status = exception.getStatus();
  const title = STATUS_CODES[status] ?? `Status ${status}`;
  const { code, detail, message, retryAfter } = bodyOf(exception);
  // A `ValidationPipe` lists all its violations in `message`; every other exception has one text.
  const messages: unknown[] = Array.isArray(message) ? message.slice(0, MAX_VIOLATIONS) : [];
  const errors = messages.map((one) => toViolation(String(one)));
  const [first] = errors;
  const text = [detail, message].find((one): one is string => typeof one === 'string' && one !== '');
  const isInvalid = first !== undefined && status === 400;
  const shown = isInvalid ? 'VALIDATION_FAILED' : codeOf(code, exception.constructor.name, title);
  return new DomainError(
    shown,
    first ? errorMessages.validationFailed(errors.length, first.detail) : (text ?? title),
    {
      cause: exception,
      errors: first && errors,
      headers: headersOf(status, retryAfter),
      status,
      title: shown === 'VALIDATION_FAILED' ? undefined : title,
    },
  );
}

/** What an exception says of itself. In JavaScript it may have no body, whatever its type says. */
function bodyOf(exception: HttpException): Record<string, unknown> {
  const response: unknown = exception.getResponse();
  if (typeof response === 'string') return { message: response };
  // An `Error` in place of a body is a cause, whose text may come from anywhere.
  return response instanceof Error ? {} : (Object(response) as Record<string, unknown>);
}

function codeOf(named: unknown, className: string, title: string): ProblemCode {
  if (typeof named === 'string' && CODE.test(named)) return named;
  const ofClass = className === 'HttpException' ? '' : toCode(className.replace(/(Exception|Error)$/, ''));
  return CODE.test(ofClass) ? ofClass : toCode(title);
}

/** "NotFound" and "Not Found" are NOT_FOUND, "I'm a Teapot" is IM_A_TEAPOT. */
function toCode(words: string): string {
  return words
    .replaceAll("'", '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
}

function headersOf(status: number, retryAfter: unknown): Record<string, string> | undefined {
  // RFC 9110, section 15.5.2: a 401 must say how to authenticate.
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' };
  const said = Number(retryAfter ?? Number.NaN);
  const isSaid = [429, 503].includes(status) && said >= 0 && said < Infinity;
  return isSaid ? { 'Retry-After': String(Math.ceil(said)) } : undefined;
}

/** The beginning of a message of class-validator: `items.0.each value in tags must be a string` is about `items.0.tags`. */
const MESSAGE =
  /^((?:[\w$-]+\.)*)(?:each value in )?(?:nested )?(?:property )?(?:"([^"]+)"|([\w$-]+)) (?:must|should|is not)\b/;

/** One message of a ValidationPipe as a violation of the field that it names, or of the whole body if it names none. */
function toViolation(message: string): Violation {
  const [, parents = '', quoted, plain = ''] = MESSAGE.exec(message) ?? [];
  const segments = [...parents.split('.').filter(Boolean), ...((quoted ?? plain) ? [quoted ?? plain] : [])];
  // A custom message may begin with a capital: "You must accept the terms".
  const isPath = quoted !== undefined || !/^[A-Z]/.test(segments[0] ?? '');
  return { pointer: isPath ? toPointer(segments) : '', detail: message };
}
