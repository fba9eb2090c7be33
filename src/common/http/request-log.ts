import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from '../errors/index.js';

/** Logs one line a request, when its response has been sent or given up. Neither query nor headers: they may be secret. */
export function useRequestLog(fastify: FastifyInstance): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    write(request, reply, 'answered');
    done();
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    request.log.info({ method: request.method, path: pathOf(request) }, 'client went away');
    done();
  });
}

function write(request: FastifyRequest, reply: FastifyReply, message: string): void {
  const line = {
    method: request.method,
    path: pathOf(request),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    tenant: request.tenantContext?.tenant,
  };
  request.log.info(line, message);
}
