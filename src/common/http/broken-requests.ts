import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { errorMessages, FrameworkError, PROBLEM_CONTENT_TYPE, toProblem } from '../errors/index.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { closeInStages, endInStages, isClosing } from './staged-close.js';

/** Answers and logs requests that fail before there is a request object. */
export class BrokenRequests {
  constructor(private readonly log: Pick<FastifyBaseLogger, 'info'>) {}

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
