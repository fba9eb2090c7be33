import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import {
  errorMessages,
  DomainError,
  MalformedRequestError,
  MethodNotAllowedError,
  PathNotFoundError,
  pathOf,
  sendProblem,
  serverRejection,
} from '../errors/index.js';
import type { RequestLine } from '../request/index.js';
import {
  boundConnections,
  boundQueuedResponses,
  closeInStages,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  leaveRest,
  respondToBroken,
  useBodyTimeout,
  useStagedClose,
} from './connections.js';
import { ResponseLog } from './request-log.js';
import { SECURITY_HEADERS, useCacheControl, useCompression } from './responses.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The error of a request whose method or path has no route. */
    pathErrorOf: (request: RequestLine) => DomainError;
  }
}

/** How long a connection stays open after a response while the server closes. Unit: milliseconds. */
const CLOSING_KEEP_ALIVE_MS = 100;

const REQUEST_ID = /^[\w.-]{1,64}$/;

/** The Fastify server that Nest runs on. Every error, even that of a broken request line, is a problem (RFC 9457). */
export function createHttpAdapter(
  { bodyLimit, trustedProxies }: { bodyLimit: number; trustedProxies: string[] },
  logger: FastifyBaseLogger,
  limits?: Partial<ConnectionLimits>,
): FastifyAdapter {
  const { maxConnections, headersMs, bodyMs, stallMs } = { ...CONNECTION_LIMITS, ...limits };
  const adapter = new HttpAdapter({
    bodyLimit,
    connectionTimeout: stallMs,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    loggerInstance: logger,
    logController: new ResponseLog(),
    return503OnClosing: false,
    http: {
      // Node's own response would have no body; the hook below rejects the request instead.
      requireHostHeader: false,
      headersTimeout: headersMs,
      connectionsCheckingInterval: headersMs / 5,
    },
    forceCloseConnections: 'idle',
    genReqId: ({ headers }: IncomingMessage) => {
      const sent = headers['x-request-id'];
      return typeof sent === 'string' && REQUEST_ID.test(sent) ? sent : randomUUID();
    },
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('X-Request-Id', request.id);
      // No hook sees these.
      leaveRest(request, reply);
      sendProblem(error, request, reply);
    },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) =>
      respondToBroken(error, socket, logger),
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...SECURITY_HEADERS, 'X-Request-Id': request.id });
    done(headViolation(request.raw));
  });
  useKnownPaths(fastify);
  boundConnections(fastify.server, maxConnections);
  boundQueuedResponses(fastify.server);
  // Node's own 417 would have no body; the hook above rejects the request instead.
  fastify.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('Connection', 'close');
    fastify.server.emit('request', request, response);
    closeInStages(request.socket);
  });
  useBodyTimeout(fastify, bodyMs, logger);
  useStagedClose(fastify);
  useCacheControl(fastify);
  useCompression(fastify);
  // If a response ends after the others were closed, its connection would delay the shutdown as long as its
  // client keeps it.
  fastify.addHook('preClose', async () => void (fastify.server.keepAliveTimeout = CLOSING_KEEP_ALIVE_MS));
  return adapter;
}

/**
 * Answers a method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6), and a path that does not exist
 * with 404. Otherwise, `DELETE /todos/count` would be a `DELETE /todos/:id`. Call it before routes are added.
 */
function useKnownPaths(fastify: FastifyInstance): void {
  const known = new Map<string, Set<string>>();
  // Fastify does not expose its own router. This one has the same patterns, and so the same precedence.
  const router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });
  fastify.addHook('onRoute', ({ url, method }) => {
    // A parameter may have one name for one method, and another for the next.
    let count = 0;
    const pattern = url.replaceAll(/:\w+/g, () => `:p${count++}`);
    const methods = known.get(pattern) ?? new Set();
    // A path of a wildcard, such as that of CORS for preflights, is left to its route.
    const store = url.includes('*') ? undefined : methods;
    if (!known.has(pattern)) router.on('GET', pattern, () => undefined, store);
    known.set(pattern, methods);
    for (const name of [method].flat()) methods.add(name);
  });
  const methodsOf = (request: RequestLine): ReadonlySet<string> | undefined => {
    const found = router.find('GET', pathOf(request));
    // Nest serves no route with an empty parameter: /todos/ is not a todo.
    const isRoute = found && !Object.values(found.params).includes('');
    return isRoute ? (found.store as Set<string> | undefined) : undefined;
  };
  const errorOf = (request: RequestLine): DomainError => {
    const methods = methodsOf(request);
    // A path may have the method in another version.
    return !methods || methods.has(request.method)
      ? new PathNotFoundError()
      : new MethodNotAllowedError(request.method, [...methods].sort());
  };
  fastify.decorate('pathErrorOf', errorOf);
  // After every onRequest hook: CORS answers preflights there, and also adds its headers to these errors.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    const { is404, method } = request;
    const methods = methodsOf(request);
    if (!is404 && (!methods || methods.has(method))) return done();
    if (!methods || method !== 'OPTIONS') return done(errorOf(request));
    // RFC 9110, section 9.3.7; RFC 10008, section 3.
    reply.header('Allow', [...new Set([...methods, 'OPTIONS'])].sort().join(', '));
    if (methods.has('QUERY')) reply.header('Accept-Query', '"application/json"');
    void reply.status(204).send();
  });
}

/** Distinguishes the server's own rejections from the exceptions that features throw. */
class HttpAdapter extends FastifyAdapter {
  /** Nest's own handler would throw an exception that looks like a feature's. */
  override setNotFoundHandler(): ReturnType<FastifyAdapter['setNotFoundHandler']> {
    return super.setNotFoundHandler(() => {
      throw new PathNotFoundError();
    });
  }

  /** Nest turns errors of Fastify and its plugins into HttpExceptions with their text. */
  override mapException(error: unknown): unknown {
    const mapped: unknown = super.mapException(error);
    if (mapped === error || !(mapped instanceof HttpException)) return mapped;
    return error instanceof Error && error.name === 'FastifyError'
      ? error
      : serverRejection(mapped.getStatus(), error);
  }
}

/** A host as RFC 3986, section 3.2.2 writes it, with a port; no user information, no path. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Headers that may be sent only once, since a proxy in front could use another one than the service does. */
const SINGLE = ['host', 'authorization'];

/** What violates RFC 9112 in the head of a request that Node has accepted; undefined if nothing does. */
function headViolation({ httpVersion, headers, rawHeaders }: IncomingMessage): Error | undefined {
  const { expect = '100-continue', host, 'transfer-encoding': coding } = headers;
  const isKnown = httpVersion === '1.1' || httpVersion === '1.0';
  if (!isKnown || (host === undefined ? httpVersion === '1.1' : !HOST.test(host)))
    return new MalformedRequestError(errorMessages.malformedHttp);
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return new MalformedRequestError(errorMessages.unknownTransferCoding);
  if (expect.toLowerCase() !== '100-continue') return new DomainError('EXPECTATION_FAILED');
  const sent = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  // Node only returns the first value.
  const repeated = SINGLE.find((name) => sent.indexOf(name) !== sent.lastIndexOf(name));
  return repeated ? new MalformedRequestError(errorMessages.repeatedHeader(repeated)) : undefined;
}
