import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { hasBody } from './body-timeout.js';

/** How long a client has to read its answer before the connection is reset. Unit: milliseconds. */
const LINGER_MS = 1_000;

/** A rest of a body that is read and thrown away, so that the connection can be kept. Unit: bytes. */
const SMALL_REST = 65_536;

/** Connections that close after the answer that is being written. */
const closing = new WeakSet<Socket>();

/**
 * Closes the connection after an answer that comes before the end of its request's body: an error, or a read, which takes
 * none. The rest is not read, unless it is short. Only an import is answered while it is read.
 */
export function useStagedClose(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const isShort = Number(request.headers['content-length']) <= SMALL_REST;
    if (!request.raw.complete && !isShort && hasBody(request)) {
      const isRead = request.routeOptions.config.carriedBody === 'lines' && reply.statusCode < 400;
      if (!isRead) {
        reply.header('Connection', 'close');
        closeInStages(request.raw.socket);
      }
    }
    done();
  });
}

/** Has the connection close in stages when an answer that says `Connection: close` is written. */
export function closeInStages(socket: Socket): void {
  closing.add(socket);
  // What Node calls then.
  socket.destroySoon = () => endInStages(socket);
}

/** Whether a connection has its last answer already, so that there can be no other one to what it still brings. */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/**
 * Closes a connection in stages (RFC 9112, section 9.6). Otherwise bytes that are still sent would be answered by a reset, which
 * may reach the client before it has read its answer.
 *
 * @param last what is sent before
 */
export function endInStages(socket: Socket, last = ''): void {
  closing.add(socket);
  socket.pause();
  socket.end(last);
  setTimeout(() => socket.destroy(), LINGER_MS);
}
