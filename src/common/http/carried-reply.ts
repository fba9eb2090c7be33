import { type HttpRequest, type HttpResponse, rawOf } from '../platform/index.js';
import type { CarriedAnswer } from './carried-requests.js';

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
export function responseBaseOf(carrier: HttpResponse): HttpResponse {
  return Object.create(carrier, { ...MEMBERS, raw: { value: rawOf(carrier) } }) as HttpResponse;
}

/** A reply that keeps its answer instead of sending it. */
export function carriedResponse(
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
