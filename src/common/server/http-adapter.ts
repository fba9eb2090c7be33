import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';
import {
  errorMessages,
  MalformedRequestError,
  sendProblem,
  ServerRefusalError,
  type DomainError,
  MethodNotAllowedError,
  PathNotFoundError,
  pathOf,
} from '../errors/index.js';
import type { RequestLine } from '../platform/index.js';
import { useBodyParsing, useBodyTimeout } from './body-parsing.js';
import {
  boundConnections,
  boundQueuedResponses,
  BrokenRequests,
  closeStalledConnections,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  leaveRest,
  useStagedClose,
} from './connections.js';
import { AnswerLog, useRequestLog } from './log.js';
import { useCacheControl, useCompression } from './responses.js';

/** Settings of the HTTP server. */
interface HttpOptions {
  /** Maximum size of a request body. Unit: bytes. */
  bodyLimit: number;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses or ranges of addresses. */
  trustedProxies: string[];
  logger: FastifyBaseLogger;
  limits?: Partial<ConnectionLimits>;
}

/** How long a connection stays open after an answer while the server closes. Unit: milliseconds. */
const CLOSING_KEEP_ALIVE_MS = 100;

const REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * The Fastify server that Nest runs on. Every error, even that of a broken request line, is a problem (RFC
 * 9457).
 */
export function createHttpAdapter({
  bodyLimit,
  trustedProxies,
  logger,
  limits,
}: HttpOptions): FastifyAdapter {
  const { maxConnections, headersMs, bodyMs, stallMs } = { ...CONNECTION_LIMITS, ...limits };
  const broken = new BrokenRequests(logger);
  const adapter = new HttpAdapter({
    bodyLimit,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    loggerInstance: logger,
    logController: new AnswerLog(),
    return503OnClosing: false,
    http: {
      // Node's own answer would have no body; the hook below rejects the request instead.
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
      sendProblem(error, request, reply, {
        error: (...args: unknown[]) => logger.error(args[0], String(args[1])),
      });
    },
    clientErrorHandler: broken.answer,
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    const fault = headFault(request.raw);
    done(fault === undefined ? undefined : new MalformedRequestError(fault));
  });
  boundConnections(fastify.server, maxConnections);
  closeStalledConnections(fastify.server, stallMs);
  boundQueuedResponses(fastify.server);
  broken.watchFiles(fastify.server);
  fastify.server.on('checkExpectation', broken.answerUnknownExpectation);
  useRequestLog(fastify);
  useBodyTimeout(fastify, bodyMs, (socket) => broken.answer({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket));
  useBodyParsing(fastify);
  useStagedClose(fastify);
  useCacheControl(fastify);
  useCompression(fastify);
  // If an answer ends after the others were closed, its connection would delay the shutdown as long as its
  // client keeps it.
  fastify.addHook('preClose', (done) => {
    fastify.server.keepAliveTimeout = CLOSING_KEEP_ALIVE_MS;
    done();
  });
  return adapter;
}

/** Distinguishes the server's own rejections from the exceptions that features throw. */
class HttpAdapter extends FastifyAdapter {
  private readonly knownPaths = new KnownPaths(this.getInstance());

  /**
   * Nest calls this once every route exists. Its own handler would throw an exception that looks like a
   * feature's.
   */
  override setNotFoundHandler(): ReturnType<FastifyAdapter['setNotFoundHandler']> {
    this.knownPaths.refuseShadowed();
    return super.setNotFoundHandler(() => {
      throw this.knownPaths.notFound();
    });
  }

  /** Nest turns errors of Fastify and its plugins into HttpExceptions with their text. */
  override mapException(error: unknown): unknown {
    const mapped: unknown = super.mapException(error);
    if (mapped === error || !(mapped instanceof HttpException)) return mapped;
    return error instanceof Error && error.name === 'FastifyError'
      ? error
      : new ServerRefusalError(mapped.getStatus(), error);
  }
}

/** A host as RFC 3986, section 3.2.2 writes it, with a port; no user information, no path. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/**
 * Headers that may be sent only once, since a proxy in front of the service could use another one than the
 * service does.
 */
const SINGLE = ['host', 'authorization'];

/** A sentence about a fault in the head of a request that Node has accepted, if there is one (RFC 9112). */
function headFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  const { host, 'transfer-encoding': coding } = headers;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return errorMessages.malformedHttp;
  if (host === undefined ? httpVersion === '1.1' : !HOST.test(host)) return errorMessages.malformedHttp;
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return errorMessages.unknownTransferCoding;
  const repeated = SINGLE.find((name) => headers[name] !== undefined && isRepeated(rawHeaders, name));
  return repeated && errorMessages.repeatedHeader(repeated);
}

/** Whether a header is repeated: Node only returns its first value. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i];
    if (raw?.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The error of a request whose method or path has no route. */
    pathErrorOf: (request: RequestLine) => DomainError;
  }
}

/** A path pattern, such as `/todos/:id`, and its methods. */
interface KnownPath {
  readonly pattern: string;
  readonly methods: Set<string>;
}

/**
 * Answers a method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6), and a path that
 * does not exist with 404. Requests with a route are not affected: paths are looked up only after Fastify has
 * found no route.
 */
class KnownPaths {
  private readonly paths = new Map<string, KnownPath>();
  /** The methods of all paths. */
  private readonly methods = new Set<string>();
  /** Fastify does not expose its own router. This one has the same patterns, and so the same precedence. */
  private readonly router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method, config }) => {
      if (!config?.refuses) this.add(url, [method].flat());
    });
    fastify.decorate('pathErrorOf', (request: RequestLine) => this.errorOf(request));
    // After every onRequest hook: CORS answers preflights there, and also adds its headers to these errors.
    fastify.addHook('preParsing', (request, _reply, _payload, done) => {
      done(request.is404 ? this.errorOf(request) : undefined);
    });
  }

  /**
   * Gives each path a rejecting route for the methods that a more general path would otherwise serve: without
   * it, `DELETE /todos/count` would be a `DELETE /todos/:id`. Call it once every route exists.
   */
  refuseShadowed(): void {
    for (const path of this.paths.values()) {
      const method = [...this.methods].filter((name) => !path.methods.has(name) && this.isServed(name, path));
      if (path.pattern.includes('*') || method.length === 0) continue;
      this.fastify.route({
        method: method as HTTPMethods[],
        url: path.pattern,
        exposeHeadRoute: false,
        config: { refuses: true },
        // A route's own hook runs after the global ones of its kind, and before the body is read.
        onRequest: (request, _reply, done) => done(notAllowed(request.method, path)),
        handler: () => undefined,
      });
    }
  }

  private add(pattern: string, methods: string[]): void {
    const path = this.paths.get(pattern) ?? { pattern, methods: new Set() };
    this.paths.set(pattern, path);
    // Another version of a route has the same path and method.
    for (const name of methods.filter((method) => !path.methods.has(method))) {
      path.methods.add(name);
      this.methods.add(name);
      this.router.on(name as findMyWay.HTTPMethod, pattern, () => undefined, path);
    }
  }

  /** The error of a request whose method or path has no route. */
  private errorOf(request: RequestLine): DomainError {
    const found = [...this.methods].flatMap((method) => this.find(method, pathOf(request)) ?? []);
    const [path] = found.filter(({ pattern }) => !pattern.includes('*')).sort(bySpecificity);
    // A path may have the method in another version.
    return path && !path.methods.has(request.method) ? notAllowed(request.method, path) : this.notFound();
  }

  /** The error of a path that has no route. */
  notFound(): PathNotFoundError {
    return new PathNotFoundError(this.paths.has('/docs'));
  }

  /** Whether a path would answer a method that it does not have itself. */
  private isServed(method: string, { pattern }: KnownPath): boolean {
    return this.find(method, pattern.replaceAll(/:[^/]+/g, '~')) !== undefined;
  }

  private find(method: string, path: string): KnownPath | undefined {
    const route = this.router.find(method as findMyWay.HTTPMethod, path);
    // Nest serves no route with an empty parameter: /todos/ is not a todo.
    return route && Object.values(route.params).every((value) => value !== '')
      ? (route.store as KnownPath)
      : undefined;
  }
}

/** A literal segment comes before a parameter: `/todos/count` is a path of its own, not an id. */
function bySpecificity(a: KnownPath, b: KnownPath): number {
  const [these, those] = [a.pattern.split('/'), b.pattern.split('/')];
  const differing = these.findIndex((segment, i) => segment !== those[i]);
  return Number(these[differing]?.startsWith(':') ?? 0) - Number(those[differing]?.startsWith(':') ?? 0);
}

function notAllowed(method: string, path: KnownPath): MethodNotAllowedError {
  return new MethodNotAllowedError(method, [...path.methods].sort());
}
