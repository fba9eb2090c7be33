import type { ServerResponse } from 'node:http';
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
} from '../../http/index.js';
import { contextOf, type HttpRequest, type HttpResponse, rawOf, whenClosed } from '../../request/index.js';

/** Reads the bodies that no parser of the application has read. What is wrong with them is said once the route is known. */
export function readExpressBody(request: HttpRequest, response: HttpResponse, next: () => void): void {
  const [message, raw] = [rawOf(request), rawOf(response)];
  const { bodyLimit, closing } = request.platform;
  whenClosed(raw, () => discardRest(message, request.body, closing));
  if (request.method !== 'GET') omitWeakTag(request, raw);
  const isLines = hasLines(request);
  if (!hasBody(request) || message.readableDidRead || bodyError(request, isLines ? 'lines' : undefined))
    return next();
  const body = isLines ? streamBody(message) : readJson(request, message, bodyLimit);
  void Promise.resolve(body)
    .then(
      (value) => (request.body = value),
      (error: Error) => (contextOf(request).unreadable = error),
    )
    .then(() => next());
}

declare module '../../request/index.js' {
  interface RequestContext {
    /** What is wrong with a body that was read before the route was known. */
    unreadable?: Error;
  }
}

function hasLines({ headers }: HttpRequest): boolean {
  return (headers['content-type'] ?? '').toLowerCase().startsWith(NDJSON_TYPE);
}

/** Checks the body of a request to a resource, whoever has read it. */
export function checkBody(request: HttpRequest): void {
  // A request inside another one has a body that is checked.
  if ((rawOf(request) as object) !== request) return;
  const { unreadable } = contextOf(request);
  if (unreadable) throw unreadable;
  const { body } = request;
  // A parser makes an object of an empty body.
  if (!hasBody(request)) request.body = undefined;
  else if (hasLines(request)) request.body = linesOf(body);
  // A route of one's own may take other types.
  else if (!bodyError(request, undefined)) {
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    checkHarmless((request.body = isText ? parseJson(Buffer.from(body)) : body));
  }
}

/** Express tags what it sends by its bytes. The response to a write is no representation that a condition may name. */
function omitWeakTag(request: HttpRequest, response: ServerResponse): void {
  const { writeHead } = response;
  response.writeHead = (...head: unknown[]) => {
    const isOfResource = request.crudContext ?? request.problem;
    if (isOfResource && String(response.getHeader('ETag')).startsWith('W/')) response.removeHeader('ETag');
    return Reflect.apply(writeHead, response, head);
  };
}
