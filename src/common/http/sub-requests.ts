import { setMaxListeners } from 'node:events';
import { type DomainError, pathOf, toProblem } from '../errors/index.js';
import { type HttpRequest, type HttpResponse, idOf, MESSAGE, rawOf } from '../platform/index.js';

/** A request carried by another one, treated as if it had arrived by itself. */
export interface CarriedRequest {
  readonly method: string;
  /** The route that takes it; undefined if there is none. */
  readonly route: ServedRoute | undefined;
  /** Path of the request itself. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Headers in addition to those that it shares with its carrier. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Additional members of the request object. */
  readonly members?: Readonly<Partial<HttpRequest>>;
}

/** The answer to a carried request. */
export interface CarriedAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Carries out one of the carried requests. Any exception becomes the answer to it. */
export type Carry = (carried: CarriedRequest) => Promise<CarriedAnswer>;

/** A route of the server. */
export interface ServedRoute {
  readonly method: string;
  /** Path of the route with everything before it, such as `/v1/todos/:id`. */
  readonly pattern: string;
  /** What else chooses between routes of the same pattern, such as a version in a header. */
  readonly constraints?: object;
  readonly handler: (this: never, request: never, response: never, next: () => void) => unknown;
}

declare module '../platform/index.js' {
  interface Platform {
    readonly carriedRequests: CarriedRequests;
  }
}

/** Headers that belong to the carrier's own body, connection or record. */
const OWN_HEADERS = new Set([
  ...['connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'idempotency-key'],
  ...['if-match', 'if-none-match', 'prefer', 'transfer-encoding'],
]);

/**
 * Carries out requests that another request carries, through the handlers of their routes: guards,
 * interceptors, pipes, overrides and filters work as they do for a request that arrives by itself. Reading
 * the body and the query, which happens before a handler, is done for the carrier only.
 */
export class CarriedRequests {
  private readonly found = new Map<string, ServedRoute | undefined>();

  /**
   * @param all every route of the server, once it has started
   * @param servedBy the route that a request has arrived at
   * @param closing aborted when the server is told to stop, so that long requests come to an end
   * @param errorOf the error of a request that has no route
   */
  constructor(
    private readonly server: object,
    readonly all: () => readonly ServedRoute[],
    private readonly servedBy: (request: HttpRequest) => Omit<ServedRoute, 'handler'> | undefined,
    readonly closing: AbortSignal,
    private readonly errorOf: (request: HttpRequest) => DomainError,
  ) {
    // Each running import adds a listener.
    setMaxListeners(0, closing);
  }

  /**
   * The route with a method and a path, whatever the application puts before it: of several, the one with the prefix
   * and the version of the route that the carrier has arrived at. Undefined if there is none.
   */
  routeOf(method: string, path: string, carrier: HttpRequest): ServedRoute | undefined {
    const { pattern = path, constraints } = this.servedBy(carrier) ?? {};
    const version = JSON.stringify(constraints);
    const key = `${method} ${path} ${pattern} ${version}`;
    if (!this.found.has(key)) {
      const distance = (route: ServedRoute) =>
        route.pattern.length - 2 * sharedLength(route.pattern, pattern);
      const [nearest] = this.all()
        .filter((route) => route.method === method && route.pattern.endsWith(path))
        .sort((a, b) => distance(a) - distance(b) || Number(isOther(a)) - Number(isOther(b)));
      this.found.set(key, nearest);
    }
    return this.found.get(key);
    function isOther(route: ServedRoute): boolean {
      return JSON.stringify(route.constraints) !== version;
    }
  }

  /** Makes the function that carries out the requests of one carrier. */
  of(carrier: HttpRequest, response: HttpResponse): Carry {
    const [requestBase, responseBase] = [requestBaseOf(carrier), responseBaseOf(response)];
    // Code that each carried request runs through may listen for the end of the carrier.
    for (const emitter of [rawOf(carrier), rawOf(response)]) emitter.setMaxListeners(0);
    return (carried) => {
      const request = requestOf(requestBase, carried);
      const { route } = carried;
      if (!route) return Promise.resolve(this.refuse(request));
      return new Promise((resolve, reject) => {
        const given = carriedResponse(responseBase, request, resolve);
        const skip = () => resolve(this.refuse(request));
        const result = route.handler.call(this.server as never, request as never, given as never, skip);
        if (result instanceof Promise) result.catch(reject);
      });
    };
  }

  private refuse(request: HttpRequest): CarriedAnswer {
    const error = this.errorOf(request);
    return { status: error.status, body: toProblem(error, { path: pathOf(request), id: idOf(request) }) };
  }
}

/** How long the beginning is that two patterns share. Unit: characters. */
function sharedLength(one: string, other: string): number {
  const end = [...one].findIndex((character, i) => character !== other[i]);
  return end === -1 ? one.length : end;
}

/** State shared by all requests of one carrier. */
function requestBaseOf(carrier: HttpRequest): HttpRequest {
  const headers = Object.entries(carrier.headers).filter(([name]) => !OWN_HEADERS.has(name));
  // Nest stores the providers of a request under a symbol in it; each carried request has its own.
  const foreign = Object.getOwnPropertySymbols(carrier).filter(
    ({ description }) => !description?.startsWith('fastify.'),
  );
  const unset = { value: undefined, writable: true, configurable: true };
  return Object.create(carrier, {
    ...Object.fromEntries(foreign.map((symbol) => [symbol, unset])),
    query: { value: Object.freeze({}) },
    id: { value: idOf(carrier) },
    [MESSAGE]: { value: rawOf(carrier) },
    headers: { value: Object.freeze(Object.fromEntries(headers)) },
  }) as HttpRequest;
}

function requestOf(
  base: HttpRequest,
  { method, path, params, headers, body, members }: CarriedRequest,
): HttpRequest {
  const request = Object.create(base, {
    method: { value: method },
    url: { value: path },
    originalUrl: { value: path },
    ...(headers && { headers: { value: { ...base.headers, ...headers } } }),
  }) as HttpRequest;
  return Object.assign(request, { params: { ...params }, body }, members);
}

/** The part of a reply that belongs to one carried request. */
interface ReplyState {
  readonly request: HttpRequest;
  readonly headers: Record<string, unknown>;
  readonly done: (answer: CarriedAnswer) => void;
  statusCode: number;
  sent: boolean;
}

/**
 * The reply to a carried request. It overrides some members and inherits the others from the carrier's reply.
 */
class CarriedReply {
  declare state: ReplyState;
  /**
   * Not a promise, although the carrier's reply is one, which resolves when the carrier has been answered.
   */
  get then(): undefined {
    return undefined;
  }
  get req(): HttpRequest {
    return this.state.request;
  }
  get request(): HttpRequest {
    return this.state.request;
  }
  get sent(): boolean {
    return this.state.sent;
  }
  get headersSent(): boolean {
    return this.state.sent;
  }
  get statusCode(): number {
    return this.state.statusCode;
  }
  set statusCode(code: number) {
    this.state.statusCode = code;
  }
  code(code: number): this {
    this.state.statusCode = code;
    return this;
  }
  status(code: number): this {
    return this.code(code);
  }
  header(name: string, value: unknown): this {
    this.state.headers[name.toLowerCase()] = value;
    return this;
  }
  set(name: string, value: unknown): this {
    return this.header(name, value);
  }
  setHeader(name: string, value: unknown): this {
    return this.header(name, value);
  }
  headers(values: Readonly<Record<string, unknown>>): this {
    for (const name of Object.keys(values)) this.header(name, values[name]);
    return this;
  }
  type(value: string): this {
    return this.header('content-type', value);
  }
  getHeader(name: string): unknown {
    return this.state.headers[name.toLowerCase()];
  }
  getHeaders(): Record<string, unknown> {
    return { ...this.state.headers };
  }
  hasHeader(name: string): boolean {
    return name.toLowerCase() in this.state.headers;
  }
  removeHeader(name: string): this {
    Reflect.deleteProperty(this.state.headers, name.toLowerCase());
    return this;
  }
  redirect(_url: string, code = 302): this {
    return this.code(code).send(undefined);
  }
  json(payload?: unknown): this {
    return this.send(payload);
  }
  end(payload?: unknown): this {
    return this.send(payload);
  }
  send(payload?: unknown): this {
    if (this.state.sent) return this;
    this.state.sent = true;
    this.state.done({ status: this.state.statusCode, body: bodyOf(payload) });
    return this;
  }
}

const { constructor: _, ...MEMBERS } = Object.getOwnPropertyDescriptors(CarriedReply.prototype);

/** The base of the replies to all requests that a carrier carries. */
function responseBaseOf(carrier: HttpResponse): HttpResponse {
  return Object.create(carrier, { ...MEMBERS, [MESSAGE]: { value: rawOf(carrier) } }) as HttpResponse;
}

/** A reply that keeps its answer instead of sending it. */
function carriedResponse(
  base: HttpResponse,
  request: HttpRequest,
  done: (answer: CarriedAnswer) => void,
): HttpResponse {
  const reply = Object.create(base) as HttpResponse & { state: ReplyState };
  reply.state = { request, headers: {}, done, statusCode: 200, sent: false };
  return reply;
}

/** Problems are sent as bytes; a stream will not be read by anyone. */
function bodyOf(payload: unknown): unknown {
  if (Buffer.isBuffer(payload)) return JSON.parse(payload.toString()) as unknown;
  const { destroy } = (payload ?? {}) as { destroy?: unknown };
  if (typeof destroy === 'function') destroy.call(payload);
  return payload;
}
