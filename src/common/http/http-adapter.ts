import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpException } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MalformedRequestError, sendProblem, ServerRefusalError } from '../errors/index.js';
import { useBodyParsing } from './body-parsing.js';
import { useBodyTimeout } from './body-timeout.js';
import { BrokenRequests } from './broken-requests.js';
import { useCacheControl } from './cache-control.js';
import { CarriedRequests } from './carried-requests.js';
import { useCompression } from './compression.js';
import { boundConnections, CONNECTION_LIMITS, type ConnectionLimits } from './connection-limits.js';
import { DirectRoutes } from './direct-routes.js';
import { KnownPaths } from './known-paths.js';
import { useMadeOnce } from './made-once.js';
import { parseQueryString } from './query-string.js';
import { boundQueuedResponses } from './queued-responses.js';
import { headFault } from './request-head.js';
import { AnswerLog, useRequestLog } from './request-log.js';
import { leaveRest, useStagedClose } from './staged-close.js';
import { closeStalledConnections } from './stalled-connections.js';
import { type TransferLimits, Transfers } from './transfers.js';

/** Settings of the HTTP server. */
interface HttpOptions {
  /** Maximum size of a request body. Unit: bytes. */
  bodyLimit: number;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses or ranges of addresses. */
  trustedProxies: string[];
  logger: FastifyBaseLogger;
  limits?: Partial<ConnectionLimits & TransferLimits>;
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
    routerOptions: { querystringParser: parseQueryString },
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
  useMadeOnce(fastify);
  useCompression(fastify);
  new Transfers(fastify, limits);
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
  protected readonly carriedRequests = new CarriedRequests(this.getInstance(), this.knownPaths);
  // After the known paths, which keep Nest's handlers.
  protected readonly directRoutes = new DirectRoutes(this.getInstance());

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
