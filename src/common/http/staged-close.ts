import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from './body-timeout.js';

/** How long a client has to read its answer before the connection is reset. Unit: milliseconds. */
const LINGER_MS = 1_000;

/** Maximum remainder of a body to read and discard so that the connection can be kept. Unit: bytes. */
const SMALL_REST = 65_536;

/** Connections that close after the current answer. */
const closing = new WeakSet<Socket>();

/**
 * Closes the connection if the answer comes before the end of the request's body, which is the case for
 * errors and for reads with a body. The rest is not read, unless it is short. Only an import is answered
 * while its body is read.
 */
export function useStagedClose(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const isRead = request.routeOptions.config.carriedBody === 'lines' && reply.statusCode < 400;
    if (!isRead) leaveRest(request, reply);
    done();
  });
}

/** Closes the connection after the answer if much of the request's body is still to come. */
export function leaveRest(request: FastifyRequest, reply: FastifyReply): void {
  const isShort = Number(request.headers['content-length']) <= SMALL_REST;
  if (request.raw.complete || isShort || !hasBody(request)) return;
  reply.header('Connection', 'close');
  closeInStages(request.raw.socket);
}

/** Closes the connection in stages once an answer with `Connection: close` has been written. */
export function closeInStages(socket: Socket): void {
  closing.add(socket);
  // Node calls this after such an answer.
  socket.destroySoon = () => endInStages(socket);
}

/** Whether a connection already has its last answer, so that nothing else it sends can be answered. */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/**
 * Closes a connection in stages (RFC 9112, section 9.6). Otherwise bytes that are still arriving would cause
 * a reset, which may reach the client before it has read its answer.
 *
 * @param last sent before closing
 */
export function endInStages(socket: Socket, last = ''): void {
  closing.add(socket);
  stopReading(socket);
  socket.end(last);
  setTimeout(() => socket.destroy(), LINGER_MS);
}

/** Reads nothing more from a connection. Node would go on: to throw away the rest of a body, or to read the next request. */
export function stopReading(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}
