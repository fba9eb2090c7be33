import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { BODY_LIMIT, type HttpRequest, type HttpResponse, idOf, isSent, rawOf } from '../platform/index.js';
import {
  type DomainError,
  pathOf,
  PROBLEM_CONTENT_TYPE,
  type ProblemCode,
  toProblem,
} from './domain.error.js';
import {
  OverloadedError,
  type RequestLimit,
  ShuttingDownError,
  TooManyRequestsError,
} from './load.errors.js';
import { OUTAGE, reasonOf } from './log-text.js';
import { InvalidTokenError } from './request.errors.js';
import { toDomainError } from './to-domain-error.js';

declare module '../platform/index.js' {
  interface RequestState {
    /** Why the request was rejected, for the log. */
    problem?: { code: ProblemCode; limit?: RequestLimit; reason?: string };
  }
}

/** Turns any thrown error into `application/problem+json` (RFC 9457), and logs the service's own faults. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(thrown, http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>(), this.logger);
  }
}

/** Answers a request with the problem that was thrown; for errors that arise outside Nest's handlers. */
export function sendProblem(
  thrown: unknown,
  request: HttpRequest,
  reply: HttpResponse,
  logger: Pick<Logger, 'error'>,
): void {
  const { status, headers, body } = problemAnswer(thrown, request, logger);
  if (isSent(reply)) {
    const raw = rawOf(reply);
    // A complete answer has already replaced this one, when the request was given up.
    if (!raw.writableEnded) raw.destroy();
    return;
  }
  reply.status(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  reply.send(body);
}

/** An error as it is sent. */
export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** The response that {@link sendProblem} sends, for code that replaces a response that is being sent. */
export function problemAnswer(
  thrown: unknown,
  request: HttpRequest,
  logger: Pick<Logger, 'error'>,
): ProblemAnswer {
  const error = toDomainError(thrown, request.platform ?? { bodyLimit: BODY_LIMIT });
  const { status } = error;
  request.problem = {
    code: error.code,
    ...(error instanceof TooManyRequestsError && { limit: error.limit }),
    ...(error instanceof InvalidTokenError && { reason: error.reason }),
  };
  if (status >= 500 && !isRefusal(error) && !rawOf(request).socket.destroyed) {
    logger.error({ requestId: idOf(request), code: error.code, ...causeOf(error) }, error.detail);
  }
  const problem = toProblem(error, { path: pathOf(request), id: idOf(request) });
  return {
    status,
    headers: { ...error.headers, 'Content-Type': PROBLEM_CONTENT_TYPE, 'Cache-Control': 'no-store' },
    // As bytes: Fastify adds a charset to a string, a parameter that the media type does not have.
    body: Buffer.from(JSON.stringify(problem)),
  };
}

/** Whether nothing failed: the request's log line says why it was rejected. */
function isRefusal(error: DomainError): boolean {
  return error instanceof OverloadedError || error instanceof ShuttingDownError;
}

/** Full details for a fault of the service itself, and the reason of a failing dependency. */
function causeOf({ status, cause }: DomainError): object {
  if (status === 500) return { error: cause };
  return { ...OUTAGE, reason: cause === undefined ? undefined : reasonOf(cause) };
}
