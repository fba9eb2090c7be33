import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DomainError } from './domain.error.js';
import { pathOf } from './path-of.js';
import { PROBLEM_CONTENT_TYPE, toProblem } from './problem.js';
import { toDomainError } from './to-domain-error.js';

/** Turns whatever was thrown into `application/problem+json` (RFC 9457), and logs what is the service's own fault. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.logger);
  }
}

/** Answers a request with the problem that was thrown; for errors that arise outside Nest's handlers. */
export function sendProblem(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  logger: Pick<Logger, 'error'>,
): void {
  const error = toDomainError(thrown, { bodyLimit: request.routeOptions.bodyLimit });
  const { status } = error;
  if (status >= 500) {
    logger.error({ requestId: request.id, code: error.code, ...causeOf(error) }, error.detail);
  }
  if (reply.sent) {
    reply.raw.destroy();
    return;
  }
  const problem = toProblem(error, { path: pathOf(request), id: request.id });
  void reply
    .code(status)
    .headers({ ...error.headers, 'Content-Type': PROBLEM_CONTENT_TYPE })
    // As bytes: to a string Fastify adds a charset, a parameter that the media type does not have.
    .send(Buffer.from(JSON.stringify(problem)));
}

/** All that is known of a fault of the service itself; of a neighbour that fails, probe after probe, one line. */
function causeOf({ status, cause }: DomainError): object {
  if (status === 500) return { error: cause };
  return { reason: cause instanceof Error ? cause.message : undefined };
}
