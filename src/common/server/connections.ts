import { randomUUID } from 'node:crypto';
import { close, open, readFileSync } from 'node:fs';
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { devNull } from 'node:os';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorMessages, FrameworkError, OUTAGE, PROBLEM_CONTENT_TYPE, toProblem } from '../errors/index.js';
import { whenClosed } from '../platform/index.js';
import { FairShare, hasBody, ownerAt } from '../http/index.js';
import { SECURITY_HEADERS } from './responses.js';

/** How many connections there may be, and how long a client may take before its connection is closed. */
export interface ConnectionLimits {
  /**
   * Connections at a time; fewer if the system allows the process fewer descriptors.
   *
   * @default 20000
   */
  readonly maxConnections: number;
  /**
   * For the head of a request, from its first byte or the opening of the connection. Unit: milliseconds.
   *
   * @default 10000
   */
  readonly headersMs: number;
  /** For a whole request body; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  readonly bodyMs: number;
  /**
   * Without progress of a request or an answer: at most this, at least half of it. Unit: milliseconds.
   *
   * @default 60000
   */
  readonly stallMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 20_000,
  headersMs: 10_000,
  bodyMs: 20_000,
  stallMs: 60_000,
};

/** Descriptors that are left for the database, files, webhooks and keys. */
const RESERVE = 512;
/** The reserve takes no more of a small limit than this. */
const MAX_RESERVED = 3 / 4;

/**
 * Bounds the connections of a server. One more than that costs the network with most connections its newest one, so
 * that there is always room for others.
 */
export function boundConnections(server: Server, maxConnections: number): void {
  const descriptors = maxDescriptors();
  const room = descriptors - Math.min(RESERVE, Math.floor(descriptors * MAX_RESERVED));
  const share = new FairShare({ maxInAll: Math.min(maxConnections, room) });
  server.on('connection', (socket: Socket) => {
    const leave = share.holdAnyway(ownerAt(socket.remoteAddress), () => void socket.destroy());
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

/**
 * Closes connections on which a request or an answer has made no progress for some time. Node's own time-out
 * is not enough: a send that has begun gets it twice, since the system took some of its bytes during the
 * first. So a connection gets half of it at a time.
 *
 * @param stallMs the longest time without progress. Unit: milliseconds.
 */
export function closeStalledConnections(server: Server, stallMs: number): void {
  const halfMs = stallMs / 2;
  const moved = new WeakMap<Socket, number>();
  server.setTimeout(halfMs, (socket) => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    // A different time-out is that of an idle connection, which ends.
    const isOver = socket.timeout !== halfMs || socket.writableLength > 0 || moved.get(socket) === bytes;
    if (isOver) {
      socket.destroy();
      return;
    }
    moved.set(socket, bytes);
    socket.setTimeout(halfMs);
  });
}

/** Maximum number of requests behind another one on their connection; with more, it is closed. */
export const MAX_BEHIND = 32;

const connections = new WeakMap<Socket, Exchanges>();

/**
 * Bounds the requests that a connection has under way (RFC 9112, section 9.3.2): Node reads as many as there
 * are, in one go. Also closes the waiting responses when their connection closes. Node only closes the one that
 * is being sent, so what the others hold would never be released. Drops requests of connections that were
 * reset. Call it once the listeners that answer requests are there.
 */
export function boundQueuedResponses(server: Server): void {
  const answerers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    // Those that came with the last one are read already.
    if (isClosing(socket)) return;
    if (isReset(socket) && isTcp(server)) {
      socket.destroy();
      return;
    }
    const exchanges = connections.get(socket) ?? new Exchanges(socket);
    if (exchanges.begin(response) >= MAX_BEHIND) {
      response.setHeader('Connection', 'close');
      closeInStages(socket);
      stopReading(socket);
    }
    for (const answer of answerers) answer.call(server, request, response);
  });
}

/** A connection to a Unix domain socket has no address anyway. */
function isTcp(server: Server): boolean {
  return typeof server.address() !== 'string';
}

/**
 * Whether the client has reset the connection before its first request was read. Then there is no address to
 * count the request for, and nobody would read the answer.
 */
function isReset(socket: Socket): boolean {
  return socket.remoteAddress === undefined;
}

/** The responses of one connection that are not done, or were not when its last requests were read. */
class Exchanges {
  private readonly responses = new Set<ServerResponse>();

  constructor(socket: Socket) {
    connections.set(socket, this);
    socket.once('close', () => this.close());
  }

  /** @returns the number of requests behind the first one */
  begin(response: ServerResponse): number {
    // Only in the next iteration of the event loop: Node reads all requests that have arrived in one go.
    whenClosed(response, () => setImmediate(() => this.responses.delete(response)));
    return this.responses.add(response).size - 1;
  }

  private close(): void {
    for (const response of this.responses) {
      // Node sees to those that have or had their turn.
      if (response.closed || response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit('close');
    }
  }
}

/** How often to look whether a file can be opened. Unit: milliseconds. */
const CHECK_MS = 1_000;

/** Answers and logs requests that fail before there is a request object. */
export class BrokenRequests {
  constructor(private readonly log: Pick<FastifyBaseLogger, 'info' | 'error'>) {}

  /** Answers bytes that Node cannot read as HTTP. */
  readonly answer = (cause: { code?: string }, socket: Socket): void => {
    if (isClosing(socket)) return;
    if (cause.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = this.answerOf(brokenRequestError(cause.code), socket);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    endInStages(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  };

  /** Answers a request with an unknown expectation. Node's own 417 would have no body. */
  readonly answerUnknownExpectation = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const error = new FrameworkError('EXPECTATION_FAILED', errorMessages.expectationFailed);
    const { status, headers, body } = this.answerOf(error, socket);
    closeInStages(socket);
    response.writeHead(status, headers).end(body);
  };

  /** Logs that the process may open no more files: the system then resets new connections, and tells nobody. */
  watchFiles(server: Server): void {
    const check = () =>
      open(devNull, (error, file) => {
        if (!error) close(file);
        else
          this.log.error(
            { ...OUTAGE, code: error.code },
            'No more files can be opened, so new clients are disconnected. Raise the limit of open files (ulimit -n)',
          );
      });
    const timer = setInterval(check, CHECK_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  private answerOf(error: FrameworkError, { remoteAddress: address }: Socket) {
    const { status, code } = error;
    const requestId = randomUUID();
    this.log.info({ requestId, address, status, code }, 'answered');
    const body = JSON.stringify(toProblem(error, { path: '', id: requestId }));
    const headers = {
      ...SECURITY_HEADERS,
      'Content-Type': PROBLEM_CONTENT_TYPE,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      Connection: 'close',
    };
    return { status, headers, body };
  }
}

function brokenRequestError(code: string | undefined): FrameworkError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new FrameworkError('HEADERS_TOO_LARGE', errorMessages.headersTooLarge);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new FrameworkError('REQUEST_TIMEOUT', errorMessages.requestTimeout);
  return new FrameworkError('MALFORMED_REQUEST', errorMessages.malformedHttp);
}

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
function endInStages(socket: Socket, last = ''): void {
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
