import type { ServerResponse } from 'node:http';
import { PathNotFoundError, pathOf, sendProblem, serverRejection } from '../../errors/index.js';
import {
  bodyError,
  checkHarmless,
  discardRest,
  hasBody,
  linesOf,
  NDJSON_TYPE,
  parseJson,
  readJson,
  streamBody,
  StreamSlots,
} from '../../http/index.js';
import {
  type HttpRequest,
  type HttpResponse,
  type Platform,
  rawOf,
  whenClosed,
} from '../../request/index.js';
import type { PlatformParts } from './platform.js';

type Next = (error?: unknown) => void;
type Handler = (request: HttpRequest, response: HttpResponse, next: Next) => void;
type ErrorHandler = (error: unknown, request: HttpRequest, response: HttpResponse, next: Next) => void;

/** What a parser of Express throws (https://github.com/expressjs/body-parser#errors); zlib's errors have no type. */
type ParserError = Partial<Record<'status' | 'errno' | 'limit', number> & { type: string }>;

/** The part of an Express application that resources need. */
interface ExpressApp {
  /** What its requests inherit (https://expressjs.com/en/guide/overriding-express-api.html). */
  readonly request: object;
  use(handler: ErrorHandler): void;
}

export function useExpress(app: ExpressApp, parts: PlatformParts): void {
  const platform: Platform = {
    ...parts,
    streamSlots: new StreamSlots(),
    pathErrorOf: () => new PathNotFoundError(),
    elapsedMs: () => 0,
    beforeSend: (_request, response, settle) => holdBack(rawOf(response), settle),
  };
  Object.defineProperty(app.request, 'platform', { get: () => platform, configurable: true });
}

/** Reads the bodies of a resource that no parser of the application has read as JSON, and rejects harmful ones. */
export const readExpressBody: Handler = (request, response, next) => {
  const reject = (error: unknown) => sendProblem(error, request, response);
  const [message, raw] = [rawOf(request), rawOf(response)];
  const { bodyLimit, closing } = request.platform;
  whenClosed(raw, () => discardRest(message, request.body, closing));
  if (request.method !== 'GET') omitWeakTag(raw);
  // A parser makes an object of an empty body.
  if (!hasBody(request)) request.body = undefined;
  const isLines = (request.headers['content-type'] ?? '').toLowerCase().startsWith(NDJSON_TYPE);
  if (!hasBody(request) || bodyError(request, isLines ? 'lines' : undefined)) return next();
  const proceed = (read: () => unknown) => {
    try {
      request.body = read();
      if (!isLines) checkHarmless(request.body);
    } catch (error) {
      return reject(error);
    }
    next();
  };
  const { body } = request;
  if (message.readableDidRead) {
    if (isLines) return proceed(() => linesOf(body));
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    return proceed(() => (isText ? parseJson(Buffer.from(body)) : body));
  }
  if (isLines) return proceed(() => streamBody(message));
  readJson(request, message, bodyLimit).then((value) => proceed(() => value), reject);
};

/** Express tags what it sends by its bytes. The response to a write is no representation that a condition may name. */
function omitWeakTag(response: ServerResponse): void {
  const { writeHead } = response;
  response.writeHead = (...head: unknown[]) => {
    if (String(response.getHeader('ETag')).startsWith('W/')) response.removeHeader('ETag');
    return Reflect.apply(writeHead, response, head);
  };
}

/** The method of a route, and its path below everything that the application puts before it. */
interface RoutePath {
  readonly method: string;
  readonly path: string;
}

/** Gives what the application's own parser rejects the format of all errors, for requests to the routes of resources. */
export function handleExpressErrors(app: ExpressApp, routes: readonly RoutePath[]): void {
  app.use((error, request, response, next) => {
    const { status, errno, type, limit } = error as ParserError;
    const isOfParser = (type ?? errno) !== undefined && typeof status === 'number' && status < 500;
    const isOfResource = () =>
      routes.some(({ method, path }) => method === request.method && endsLike(pathOf(request), path));
    if (!isOfParser || !isOfResource()) return next(error);
    sendProblem(serverRejection(status, error, limit), request, response);
  });
}

/** Whether a path ends like a pattern such as `/todos/:id`, as Express compares them unless told otherwise. */
function endsLike(path: string, pattern: string): boolean {
  const parts = path.toLowerCase().replace(/\/$/, '').split('/').reverse();
  const named = pattern.toLowerCase().split('/').slice(1).reverse();
  return named.every((name, i) => name.startsWith(':') || name === parts[i]);
}

/** Holds a response back until its body is known as a whole and settled. */
function holdBack(response: ServerResponse, settle: (body: unknown) => Promise<unknown>): void {
  const parts: Buffer[] = [];
  const { write, end } = response;
  const hold = (part: unknown, coding: unknown) => {
    if (part === undefined || part === null || typeof part === 'function') return;
    parts.push(Buffer.from(part as string, typeof coding === 'string' ? (coding as BufferEncoding) : 'utf8'));
  };
  response.write = (part: unknown, coding?: unknown) => {
    hold(part, coding);
    return true;
  };
  response.end = (part?: unknown, coding?: unknown) => {
    hold(part, coding);
    Object.assign(response, { write, end });
    const body = Buffer.concat(parts);
    const send = (settled: unknown) => {
      if (!response.hasHeader('content-length'))
        response.setHeader('Content-Length', (settled as Buffer).length);
      response.end(settled);
    };
    settle(body).then(send, () => response.destroy());
    return response;
  };
}
