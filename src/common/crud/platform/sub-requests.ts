import { RequestMethod, StreamableFile, type Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { ContextIdFactory, ExternalContextCreator, type ModuleRef, ModulesContainer } from '@nestjs/core';
import { REQUEST_CONTEXT_ID } from '@nestjs/core/router/request/request-constants.js';
import { RouteParamsFactory } from '@nestjs/core/router/route-params-factory.js';
import { type DomainError, sendProblem } from '../../errors/index.js';
import {
  type HttpRequest,
  type HttpResponse,
  idOf,
  rawOf,
  type RequestContext,
} from '../../request/index.js';
import type { Route } from '../routes/routes.js';

/** A request inside another one, such as an item of a batch. */
export interface SubRequest {
  readonly path: string;
  /** Path of its route, for guards that decide by it. @default its path */
  readonly pattern?: string;
  readonly params: Readonly<Record<string, string>>;
  /** Headers in addition to those that it shares with the request around it. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Nothing that was decided about the request around it applies to it. */
  readonly context: RequestContext;
}

/** The response to a sub-request. */
export interface SubResponse {
  readonly status: number;
  readonly body: unknown;
  /** Its header `Location`. */
  readonly location?: string;
}

type Run = (request: HttpRequest, response: HttpResponse) => Promise<unknown>;

declare module '../../request/index.js' {
  interface Platform {
    readonly subRequests: SubRequests;
    /** The error of a request that has no route. */
    pathErrorOf(request: RequestLine): DomainError;
  }
}

/** Carries out requests inside other requests, with the guards, interceptors, pipes and filters of their own routes. */
export class SubRequests {
  private readonly contexts: ExternalContextCreator;
  private readonly modules: ModulesContainer;
  private readonly runs = new Map<Type<object>, Map<string, Run>>();

  constructor(private readonly moduleRef: ModuleRef) {
    this.contexts = moduleRef.get(ExternalContextCreator, { strict: false });
    this.modules = moduleRef.get(ModulesContainer, { strict: false });
  }

  /** Carries out one request inside another one, whose response is `reply`. Any exception becomes the response to it. */
  async send(
    controller: Type<object>,
    { handler, method, status }: Route,
    sub: SubRequest,
    around: HttpRequest,
    reply: HttpResponse,
  ): Promise<SubResponse> {
    const request = requestWithin(around, RequestMethod[method], sub);
    const response = responseWithin(reply, request, status);
    try {
      const run = await this.runOf(controller, handler, request);
      const result = await run(request, response);
      if (!response.sent) response.send(result);
    } catch (error) {
      // Nest also throws what a filter has answered.
      if (!response.sent) sendProblem(error, request, response);
    }
    return {
      status: response.statusCode,
      body: response.body,
      location: response.getHeader('location') as string | undefined,
    };
  }

  /** The function that runs a method; for a controller that Nest makes for each request, a new one. */
  private async runOf(controller: Type<object>, handler: string, request: HttpRequest): Promise<Run> {
    const runs = this.runs.get(controller) ?? new Map<string, Run>();
    const known = runs.get(handler);
    if (known) return known;
    const wrapper = this.wrapperOf(controller);
    const isStatic = wrapper.isDependencyTreeStatic();
    const contextId = isStatic ? undefined : ContextIdFactory.getByRequest(request, []);
    if (contextId) this.moduleRef.registerRequestByContextId(request, contextId);
    const instance = contextId
      ? await this.moduleRef.resolve<object>(controller, contextId, { strict: false })
      : wrapper.instance;
    const run = this.contexts.create(
      instance,
      (instance as Record<string, () => unknown>)[handler] as () => unknown,
      handler,
      ROUTE_ARGS_METADATA,
      PARAMS,
      contextId,
      wrapper.id,
    ) as Run;
    if (isStatic) this.runs.set(controller, runs.set(handler, run));
    return run;
  }

  /** What Nest knows about a controller. */
  private wrapperOf(controller: Type<object>) {
    for (const { controllers } of this.modules.values()) {
      const wrapper = controllers.get(controller);
      if (wrapper) return wrapper;
    }
    throw new Error(`${controller.name} is not a controller of this application.`);
  }
}

const params = new RouteParamsFactory();

/** The values of a method's parameters, such as `@Body()`. */
const PARAMS = {
  exchangeKeyForValue: (type: number, data: unknown, [req, res]: unknown[]): unknown =>
    params.exchangeKeyForValue(type, data as string, { req, res, next: undefined } as never),
};

/** Headers that belong to the body, the connection or the record of the request around. */
const OWN_HEADERS = new Set([
  ...['connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'idempotency-key'],
  ...['if-match', 'if-none-match', 'prefer', 'transfer-encoding'],
]);

/** What Express and Fastify tell of the route of a request. */
interface RoutedRequest {
  readonly route?: { readonly path: string };
  readonly routeOptions?: { readonly url?: string };
}

/** The path of a request's route, with everything that the application puts before it. */
export function patternOf(request: HttpRequest): string {
  const { route, routeOptions } = request as RoutedRequest;
  return routeOptions?.url ?? route?.path ?? '';
}

/** A request that has members of its own, and all others from the one around it. */
function requestWithin(around: HttpRequest, method: string, sub: SubRequest): HttpRequest {
  const { path, pattern = path, headers, context, ...own } = sub;
  const { routeOptions } = around as RoutedRequest;
  const shared = Object.entries(around.headers).filter(([name]) => !OWN_HEADERS.has(name));
  return within(around, {
    ...own,
    method,
    url: path,
    originalUrl: path,
    route: { path: pattern },
    routeOptions: routeOptions && { ...routeOptions, method, url: pattern },
    query: {},
    headers: { ...Object.fromEntries(shared), ...headers },
    id: idOf(around),
    raw: rawOf(around),
    // Providers that Nest makes for each request are made for this one, too.
    [REQUEST_CONTEXT_ID]: undefined,
    crudContext: context,
  });
}

/** A response that keeps what filters, and methods with `@Res()`, send as by Express or Fastify. */
function responseWithin(around: HttpResponse, request: HttpRequest, status: number) {
  const headers = new Map<string, unknown>();
  const header = (name: string, value: unknown) => {
    headers.set(name.toLowerCase(), value);
    return response;
  };
  const code = (statusCode: number) => Object.assign(response, { statusCode });
  const send = (body?: unknown) =>
    Object.assign(response, { sent: true, headersSent: true, body: read(body) });
  const response = within(around, {
    request,
    req: request,
    raw: rawOf(around),
    // A reply of Fastify is a promise.
    then: undefined,
    statusCode: status,
    body: undefined as unknown,
    sent: false,
    headersSent: false,
    code,
    status: code,
    header,
    set: header,
    setHeader: header,
    type: (value: string) => header('content-type', value),
    getHeader: (name: string) => headers.get(name.toLowerCase()),
    getHeaders: () => Object.fromEntries(headers),
    hasHeader: (name: string) => headers.has(name.toLowerCase()),
    removeHeader: (name: string) => headers.delete(name.toLowerCase()),
    send,
    json: send,
    end: send,
  });
  return response;
}

function within<T extends object, Own extends object>(around: T, own: Own): T & Own {
  return Object.create(around, Object.getOwnPropertyDescriptors(own)) as T & Own;
}

/** A problem is sent as bytes; nobody reads a stream. */
function read(body: unknown): unknown {
  if (Buffer.isBuffer(body)) return JSON.parse(body.toString()) as unknown;
  if (body instanceof StreamableFile) body.getStream().destroy();
  return body;
}
