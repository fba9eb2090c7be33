import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from '../errors/index.js';

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
    request.log.info(lineOf(request), 'client went away');
    done();
  });
}

function write(request: FastifyRequest, reply: FastifyReply, message: string): void {
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  request.log.info({ ...lineOf(request), status: reply.statusCode, ms, ...request.problem }, message);
}

function lineOf(request: FastifyRequest): object {
  const { tenant, subject } = request.tenantContext ?? {};
  return { method: request.method, path: pathOf(request), address: request.ip, tenant, subject };
}
