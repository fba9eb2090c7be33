import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  DomainError,
  errorMessages,
  MalformedRequestError,
  PROBLEM_HEADERS,
  toProblem,
} from '../errors/index.js';
import { whenClosed } from '../request/index.js';
import { FairShare, hasBody, ownerAt } from '../http/index.js';
import { SECURITY_HEADERS } from './responses.js';

/** How many connections there may be, and how long a client may take before its connection is closed. */
export const CONNECTION_LIMITS = {
  /** Connections at a time; fewer if the process may have fewer descriptors. @default 20000 */
  maxConnections: 20_000,
  /** For the head of a request. Unit: milliseconds. @default 10000 */
  headersMs: 10_000,
  /** For a whole request body; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  bodyMs: 20_000,
  /** Without progress of a request; a response has at most twice as long. Unit: milliseconds. @default 30000 */
  stallMs: 30_000,
};
export type ConnectionLimits = Readonly<typeof CONNECTION_LIMITS>;

/** Descriptors that are left for the database, files, webhooks and keys. */
const RESERVE = 512;
/** The reserve takes no more of a small limit than this. */
const MAX_RESERVED = 3 / 4;

/** Bounds the connections of a server. One more than that costs the network with most connections its newest one. */
export function boundConnections(server: Server, maxConnections: number): void {
  const descriptors = maxDescriptors();
  const room = descriptors - Math.min(RESERVE, Math.floor(descriptors * MAX_RESERVED));
  const share = new FairShare({ maxInAll: Math.min(maxConnections, room) });
  server.on('connection', (socket: Socket) => {
    const leave = share.hold(ownerAt(socket.remoteAddress), () => void socket.destroy());
    socket.once('close', leave);
  });
}

/** How many descriptors this process may have; any number where the system does not say. */
function maxDescriptors(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Maximum number of requests behind another one on their connection; with more, it is closed. */
export const MAX_BEHIND = 32;

/** The responses of each connection that are not finished, in their order. */
const unfinished = new WeakMap<Socket, Set<ServerResponse>>();

/** The last response of a connection, if it is not finished. */
export function lastUnfinished(socket: Socket): ServerResponse | undefined {
  return [...(unfinished.get(socket) ?? [])].at(-1);
}

/**
 * Bounds the requests that a connection has under way (RFC 9112, section 9.3.2), and closes the waiting responses with it:
 * Node closes only the one that is being sent. It wraps the listeners that are there already.
 */
export function boundQueuedResponses(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    // Those that came with the last one are read already.
    if (closing.has(socket)) return;
    // Reset before its first request was read. A connection to a Unix domain socket has no address anyway.
    if (socket.remoteAddress === undefined && typeof server.address() !== 'string') {
      socket.destroy();
      return;
    }
    const responses = unfinished.get(socket) ?? new Set();
    if (!unfinished.has(socket)) socket.once('close', () => closeWaiting(responses));
    unfinished.set(socket, responses.add(response));
    // Only in the next iteration of the event loop: Node reads all requests that have arrived in one go.
    whenClosed(response, () => setImmediate(() => responses.delete(response)));
    if (responses.size > MAX_BEHIND) {
      response.setHeader('Connection', 'close');
      closeInStages(socket);
      stopReading(socket);
    }
    for (const listener of listeners) listener.call(server, request, response);
  });
}

function closeWaiting(responses: Iterable<ServerResponse>): void {
  for (const response of responses) {
    // Node sees to those that have or had their turn.
    if (response.closed || response.socket !== null || response.writableFinished) continue;
    response.destroy();
    response.emit('close');
  }
}

/** Answers and logs bytes that Node cannot read as HTTP. */
export function respondToBroken(cause: { code?: string }, socket: Socket, log: FastifyBaseLogger): void {
  if (closing.has(socket)) return;
  if (cause.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const error = brokenRequestError(cause.code);
  const { status, code } = error;
  const requestId = randomUUID();
  log.info({ requestId, address: socket.remoteAddress, status, code }, 'answered');
  const body = JSON.stringify(toProblem(error, { path: '', id: requestId }));
  const headers = {
    ...SECURITY_HEADERS,
    ...PROBLEM_HEADERS,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  endInStages(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

function brokenRequestError(code: string | undefined): DomainError {
  if (code === 'HPE_HEADER_OVERFLOW') return new DomainError('HEADERS_TOO_LARGE');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new DomainError('REQUEST_TIMEOUT');
  return new MalformedRequestError(errorMessages.malformedHttp);
}

/** How long a client has to read its response before the connection is reset. Unit: milliseconds. */
const LINGER_MS = 1_000;

/** Maximum remainder of a body to read and discard so that the connection can be kept. Unit: bytes. */
const SMALL_REST = 65_536;

/** Connections that close after the current response, so that later requests get none. */
const closing = new WeakSet<Socket>();

/** Closes the connection if a response comes before the end of its request's body. An import is answered while it is read. */
export function useStagedClose(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const isRead = request.routeOptions.config.batchBody === 'lines' && reply.statusCode < 400;
    if (!isRead) leaveRest(request, reply);
    done();
  });
}

/** Closes the connection after the response if much of the request's body is still to come. */
export function leaveRest(request: FastifyRequest, reply: FastifyReply): void {
  const isShort = Number(request.headers['content-length']) <= SMALL_REST;
  if (request.raw.complete || isShort || !hasBody(request)) return;
  reply.header('Connection', 'close');
  closeInStages(request.raw.socket);
}

/** Closes the connection in stages once a response with `Connection: close` has been written. */
export function closeInStages(socket: Socket): void {
  closing.add(socket);
  // Node calls this after such a response.
  socket.destroySoon = () => endInStages(socket);
}

/** Closes in stages (RFC 9112, section 9.6): bytes that still arrive would cause a reset, which may lose the response. */
function endInStages(socket: Socket, last = ''): void {
  closing.add(socket);
  stopReading(socket);
  socket.end(last);
  setTimeout(() => socket.destroy(), LINGER_MS);
}

/** Reads nothing more from a connection. Node would go on: to throw away the rest of a body, or to read the next request. */
function stopReading(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}

/** Gives up requests whose body does not arrive in time. Node's own limit would also apply to streams of lines. */
export function useBodyTimeout(fastify: FastifyInstance, limitMs: number, log: FastifyBaseLogger): void {
  const giveUp = (socket: Socket) => respondToBroken({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket, log);
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.routeOptions.config.batchBody !== 'lines' && hasBody(request)) {
      const timer = setTimeout(giveUp, limitMs, request.raw.socket);
      request.raw.once('end', () => clearTimeout(timer));
      whenClosed(reply.raw, () => clearTimeout(timer));
    }
    done();
  });
}
