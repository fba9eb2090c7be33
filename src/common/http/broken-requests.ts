import { randomUUID } from 'node:crypto';
import { close, open } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { devNull } from 'node:os';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorMessages, FrameworkError, OUTAGE, PROBLEM_CONTENT_TYPE, toProblem } from '../errors/index.js';
import { hasBody } from './read-body.js';
import { SECURITY_HEADERS } from './security-headers.js';

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
