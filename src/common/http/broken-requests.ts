import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorMessages, FrameworkError, PROBLEM_CONTENT_TYPE, toProblem } from '../errors/index.js';
import { closeInStages, endInStages, isClosing } from './staged-close.js';

/** Answers bytes that Node cannot read as HTTP; there is no request object to answer through. */
export function answerBrokenRequest(cause: { code?: string }, socket: Socket): void {
  if (isClosing(socket)) return;
  if (cause.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = answerOf(brokenRequestError(cause.code));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  endInStages(socket, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** Answers a request with an expectation that the server does not know, in the place of Node, whose 417 has no body. */
export function answerUnknownExpectation({ socket }: IncomingMessage, response: ServerResponse): void {
  const error = new FrameworkError('EXPECTATION_FAILED', errorMessages.expectationFailed);
  const { status, headers, body } = answerOf(error);
  closeInStages(socket);
  response.writeHead(status, headers).end(body);
}

function answerOf(error: FrameworkError) {
  const body = JSON.stringify(toProblem(error, { path: '', id: randomUUID() }));
  const headers = {
    'Content-Type': PROBLEM_CONTENT_TYPE,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    Connection: 'close',
  };
  return { status: error.status, headers, body };
}

function brokenRequestError(code: string | undefined): FrameworkError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new FrameworkError('HEADERS_TOO_LARGE', errorMessages.headersTooLarge);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new FrameworkError('REQUEST_TIMEOUT', errorMessages.requestTimeout);
  return new FrameworkError('MALFORMED_REQUEST', errorMessages.malformedHttp);
}
