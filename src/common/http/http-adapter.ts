import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  errorMessages,
  FrameworkError,
  MalformedRequestError,
  PathNotFoundError,
  PROBLEM_CONTENT_TYPE,
  sendProblem,
  ServerRefusalError,
  toProblem,
} from '../errors/index.js';
import { useBodyParsing } from './body-parsing.js';
import { useBodyTimeout } from './body-timeout.js';
import { CarriedRequests } from './carried-requests.js';
import { KnownPaths } from './known-paths.js';
import { parseQueryString } from './query-string.js';
import { useRequestLog } from './request-log.js';

/** Settings of the HTTP server. */
interface HttpOptions {
  /** Largest request body. Unit: bytes. */
  bodyLimit: number;
  /** Proxies whose `X-Forwarded-For` says where a request comes from: addresses, or ranges of them. */
  trustedProxies: string[];
  logger: FastifyBaseLogger;
}

const REQUEST_ID = /^[\w.-]{1,64}$/;

/** The Fastify server that Nest runs on. Every error, down to a broken request line, is a problem (RFC 9457). */
export function createHttpAdapter({ bodyLimit, trustedProxies, logger }: HttpOptions): FastifyAdapter {
  const adapter = new HttpAdapter({
    bodyLimit,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    routerOptions: { querystringParser: parseQueryString },
    return503OnClosing: false,
    // Node's own answer would have no body; the hook below refuses in its place.
    http: { requireHostHeader: false },
    forceCloseConnections: 'idle',
    genReqId: ({ headers }: IncomingMessage) => {
      const sent = headers['x-request-id'];
      return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
    },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('X-Request-Id', request.id);
      sendProblem(error, request, reply, {
        error: (...args: unknown[]) => logger.error(args[0], String(args[1])),
      });
    },
    clientErrorHandler: answerBrokenRequest,
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    const lacksHost = request.headers.host === undefined && request.raw.httpVersion === '1.1';
    done(lacksHost ? new MalformedRequestError(errorMessages.malformedHttp) : undefined);
  });
  useRequestLog(fastify);
  useBodyTimeout(fastify, (socket) => answerBrokenRequest({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket));
  useBodyParsing(fastify);
  return adapter;
}

/** Keeps what the server itself refuses apart from the exceptions that features throw. */
class HttpAdapter extends FastifyAdapter {
  private readonly knownPaths = new KnownPaths(this.getInstance());
  protected readonly carriedRequests = new CarriedRequests(this.getInstance(), this.knownPaths);

  /** Nest calls this when every route is there. Its own handler would throw an exception that looks like a feature's. */
  override setNotFoundHandler(): ReturnType<FastifyAdapter['setNotFoundHandler']> {
    this.knownPaths.refuseShadowed();
    return super.setNotFoundHandler(() => {
      throw new PathNotFoundError();
    });
  }

  /** Nest makes an HttpException of what Fastify and its plugins throw, with their text. */
  override mapException(error: unknown): unknown {
    const mapped: unknown = super.mapException(error);
    if (mapped === error || !(mapped instanceof HttpException)) return mapped;
    return error instanceof Error && error.name === 'FastifyError'
      ? error
      : new ServerRefusalError(mapped.getStatus(), error);
  }
}

/** Answers bytes that Node cannot read as HTTP; there is no request object to answer through. */
function answerBrokenRequest(cause: { code?: string }, socket: Socket): void {
  if (cause.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const error = brokenRequestError(cause.code);
  const { status } = error;
  const body = JSON.stringify(toProblem(error, { path: '', id: randomUUID() }));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_CONTENT_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function brokenRequestError(code: string | undefined): FrameworkError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new FrameworkError('HEADERS_TOO_LARGE', errorMessages.headersTooLarge);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new FrameworkError('REQUEST_TIMEOUT', errorMessages.requestTimeout);
  return new FrameworkError('MALFORMED_REQUEST', errorMessages.malformedHttp);
}
