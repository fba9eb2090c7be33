import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { HttpRequest } from '../platform/index.js';

/**
 * Gives up requests whose body does not arrive in time. Node's own limit would also apply to streams of
 * lines, which may take as long as they like while they make progress.
 *
 * @param limitMs how long a whole body may take. Unit: milliseconds.
 */
export function useBodyTimeout(
  fastify: FastifyInstance,
  limitMs: number,
  giveUp: (socket: Socket) => void,
): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  fastify.addHook('preParsing', (request, _reply, _payload, done) => {
    const isStream = request.routeOptions.config.carriedBody === 'lines';
    if (!isStream && hasBody(request)) timers.set(request, setTimeout(giveUp, limitMs, request.raw.socket));
    done();
  });
  const arrived = (request: FastifyRequest) => clearTimeout(timers.get(request));
  fastify.addHook('preValidation', (request, _reply, done) => done(void arrived(request)));
  fastify.addHook('onResponse', (request, _reply, done) => done(void arrived(request)));
  fastify.addHook('onRequestAbort', (request, done) => done(void arrived(request)));
}

/** Whether a request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: HttpRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}
