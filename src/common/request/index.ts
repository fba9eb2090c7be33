import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** Maximum size of a body, unless a server has another one. Unit: bytes. */
export const BODY_LIMIT = 1_048_576;

/** What all requests share of the application that they arrive at. Each folder that adds members declares them itself. */
export interface Platform {
  /** Maximum size of a body. Unit: bytes. */
  readonly bodyLimit: number;
  /** Whether guards or interceptors of the whole application decide about requests. */
  hasGlobalEnhancers(): boolean;
  /** Aborted when the application is told to stop, so that long requests come to an end. */
  readonly closing: AbortSignal;
  /** How long ago a request arrived, as far as it is known. Unit: milliseconds. */
  elapsedMs(response: HttpResponse): number;
  /** Checks the body of a request to a resource, if the platform has not done so before. */
  checkBody?(request: HttpRequest): void;
  /** Lets a function see the body of a response before it is sent: it returns the one to send in its place. */
  beforeSend(request: HttpRequest, response: HttpResponse, settle: (body: unknown) => Promise<unknown>): void;
}

/** What the steps of a request, or of an item of a batch, tell each other. Each folder that adds members declares them itself. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface RequestContext {}

/** What resources add to a request. */
export interface RequestState {
  /** Undefined in an application without resources. */
  readonly crudPlatform: Platform;
  crudContext?: RequestContext;
}

/** The context of a request; an empty one at first. */
export function contextOf(request: RequestState): RequestContext {
  return (request.crudContext ??= {});
}

/** What a request asks for. */
export interface RequestLine {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** The same as sent, where Express has taken away the path of a mounted application. */
  readonly originalUrl?: string;
}

/** What resources need of a request; requests of Express and of Fastify have it. */
export interface HttpRequest extends RequestState, RequestLine {
  readonly headers: IncomingHttpHeaders;
  readonly params: unknown;
  /** The parsed body, or the stream of an import; undefined if there is none. */
  body?: unknown;
  /** Address of the client. */
  readonly ip?: string;
}

/** What resources need of a response; responses of Express and of Fastify have it. */
export interface HttpResponse {
  readonly statusCode: number;
  status(code: number): unknown;
  header(name: string, value: string): unknown;
  getHeader(name: string): unknown;
  getHeaders(): object;
  removeHeader(name: string): unknown;
  send(body?: unknown): unknown;
}

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type
  interface FastifyRequest extends RequestState {}
}

/** The path of a request's URL, without its query, which may be secret. */
export function pathOf({ url, originalUrl = url }: Omit<RequestLine, 'method'>): string {
  const end = originalUrl.indexOf('?');
  return end === -1 ? originalUrl : originalUrl.slice(0, end);
}

/** The identifier of a request in the log: that of Fastify, of a logger, or a new one. */
export function idOf(request: HttpRequest): string {
  const known = request as { id?: unknown };
  known.id ??= randomUUID();
  return String(known.id);
}

/** The message of Node that a request or response stands for: Express extends it, and Fastify refers to it. */
export function rawOf(request: HttpRequest): IncomingMessage;
export function rawOf(response: HttpResponse): ServerResponse;
export function rawOf(message: HttpRequest | HttpResponse): IncomingMessage | ServerResponse {
  const { raw = message } = message as { raw?: object };
  return raw as ServerResponse;
}

/** Whether a response has been sent, or is none of Nest's any more. */
export function isSent(response: HttpResponse): boolean {
  return (response as { sent?: boolean }).sent ?? rawOf(response).headersSent;
}

/** Calls a function when a response has been sent or given up; at once if it has. */
export function whenClosed(response: ServerResponse, action: () => void): void {
  if (response.destroyed) return action();
  // The framework takes eleven listeners for a stream, and Node warns of a leak from there on.
  response.setMaxListeners(0).once('close', action);
}
