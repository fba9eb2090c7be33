import { LogController } from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OverloadedError, pathOf } from '../errors/index.js';

/**
 * Logs one line per request when its response has been sent or given up: caller, method, path, address and
 * result. Omits the query and headers because they may be secret.
 */
export function useRequestLog(fastify: FastifyInstance): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    write(request, reply, 'answered');
    done();
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    // This side has closed the connection.
    if (!brokenOff.has(request)) request.log.info(lineOf(request), 'client went away');
    done();
  });
}

/** Requests whose answer has failed after its head was sent. */
const brokenOff = new WeakSet<FastifyRequest>();

/** Has Fastify log nothing of requests, except for a failure that their answers can no longer tell. */
export class AnswerLog extends LogController {
  constructor() {
    super({ disableRequestLogging: true, requestIdLogLabel: 'requestId' });
  }

  override streamError(error: Error, request: FastifyRequest): void {
    // The client went away, and has a line of its own.
    if ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    brokenOff.add(request);
    if (error instanceof OverloadedError) {
      request.log.info({ ...lineOf(request), code: error.code }, 'answer broke off');
      return;
    }
    request.log.error({ ...lineOf(request), error }, 'answer broke off');
  }
}

function write(request: FastifyRequest, reply: FastifyReply, message: string): void {
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  request.log.info({ ...lineOf(request), status: reply.statusCode, ms, ...request.problem }, message);
}

function lineOf(request: FastifyRequest): object {
  const { tenant, subject } = request.tenantContext ?? {};
  return { method: request.method, path: pathOf(request), address: request.ip, tenant, subject };
}
