import { setMaxListeners } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { pathOf, toProblem } from '../errors/index.js';
import { carriedReply, replyBaseOf } from './carried-reply.js';
import type { KnownPaths } from './known-paths.js';

/** A request carried by another one, treated as if it had arrived by itself. */
export interface CarriedRequest {
  readonly method: string;
  /** Path of the route, such as `/todos/:id`. */
  readonly pattern: string;
  /** Handler of the route. @default the one that is known by method and pattern */
  readonly handler?: RouteHandlerMethod;
  /** Path of the request itself. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Headers in addition to those that it shares with its carrier. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Additional members of the request object. */
  readonly members?: Readonly<Partial<FastifyRequest>>;
}

/** The answer to a carried request. */
export interface CarriedAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Carries out one of the carried requests. Any exception becomes the answer to it. */
export type Carry = (carried: CarriedRequest) => Promise<CarriedAnswer>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Identifies the route to {@link CarriedRequests.routeOf}. */
    routeKey?: object;
  }
  interface FastifyInstance {
    carriedRequests: CarriedRequests;
  }
}

/** Headers that belong to the carrier's own body, connection or record. */
const OWN_HEADERS = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'prefer',
  'transfer-encoding',
]);

/**
 * Carries out requests that another request carries, through the handlers of their routes: guards,
 * interceptors, pipes, overrides and filters work as they do for a request that arrives by itself. Reading
 * the body and the query, which happens before a handler, is done for the carrier only.
 */
export class CarriedRequests {
  /** Aborted when the server is told to stop, so that long requests come to an end. */
  readonly closing: AbortSignal;
  private readonly handlers = new Map<string, RouteHandlerMethod>();
  private readonly keyed = new Map<object, Required<Pick<CarriedRequest, 'pattern' | 'handler'>>>();

  constructor(
    private readonly fastify: FastifyInstance,
    private readonly knownPaths: KnownPaths,
  ) {
    fastify.decorate('carriedRequests', { getter: (): never => this as never });
    const closing = new AbortController();
    this.closing = closing.signal;
    // Each running import adds a listener.
    setMaxListeners(0, this.closing);
    fastify.addHook('preClose', (done) => {
      closing.abort();
      done();
    });
    fastify.addHook('onRoute', ({ url, method, handler, config }) => {
      if (config?.refuses) return;
      if (config?.routeKey && method !== 'HEAD') this.keyed.set(config.routeKey, { pattern: url, handler });
      for (const name of [method].flat()) this.handlers.set(`${name} ${url}`, handler);
    });
  }

  /** The route that declares a key; undefined if there is none. */
  routeOf(key: object): Required<Pick<CarriedRequest, 'pattern' | 'handler'>> | undefined {
    return this.keyed.get(key);
  }

  /** Makes the function that carries out the requests of one carrier. */
  of(carrier: FastifyRequest, reply: FastifyReply): Carry {
    const [requestBase, replyBase] = [requestBaseOf(carrier), replyBaseOf(reply)];
    // Code that each carried request runs through may listen for the end of the carrier.
    for (const emitter of [carrier.raw, reply.raw]) emitter.setMaxListeners(0);
    return (carried) => {
      const request = requestOf(requestBase, carried);
      const handler = carried.handler ?? this.handlers.get(`${carried.method} ${carried.pattern}`);
      if (!handler) return Promise.resolve(this.refuse(request));
      return new Promise((resolve, reject) => {
        const result: unknown = handler.call(
          this.fastify,
          request,
          carriedReply(replyBase, request, resolve),
        );
        if (result instanceof Promise) result.catch(reject);
      });
    };
  }

  private refuse(request: FastifyRequest): CarriedAnswer {
    const error = this.knownPaths.errorOf(request);
    return { status: error.status, body: toProblem(error, { path: pathOf(request), id: request.id }) };
  }
}

/** State shared by all requests of one carrier. */
function requestBaseOf(carrier: FastifyRequest): FastifyRequest {
  const headers = Object.entries(carrier.headers).filter(([name]) => !OWN_HEADERS.has(name));
  // Nest stores the providers of a request under a symbol in it; each carried request has its own.
  const foreign = Object.getOwnPropertySymbols(carrier).filter(
    ({ description }) => !description?.startsWith('fastify.'),
  );
  const unset = { value: undefined, writable: true, configurable: true };
  return Object.create(carrier, {
    ...Object.fromEntries(foreign.map((symbol) => [symbol, unset])),
    query: { value: Object.freeze({}) },
    headers: { value: Object.freeze(Object.fromEntries(headers)) },
  }) as FastifyRequest;
}

function requestOf(
  base: FastifyRequest,
  { method, path, params, headers, body, members }: CarriedRequest,
): FastifyRequest {
  const request = Object.create(base, {
    method: { value: method },
    url: { value: path },
    originalUrl: { value: path },
    ...(headers && { headers: { value: { ...base.headers, ...headers } } }),
  }) as FastifyRequest;
  return Object.assign(request, { params: { ...params }, body }, members);
}
