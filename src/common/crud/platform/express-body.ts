import type { IncomingMessage, ServerResponse } from 'node:http';
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

/** Reads the bodies of a resource that no parser of the application has read as JSON. What is wrong with them is said later. */
export function readExpressBody(request: HttpRequest, response: HttpResponse, next: () => void): void {
  const [message, raw] = [rawOf(request), rawOf(response)];
  whenClosed(raw, () => discardRest(message, request.body, request.crudPlatform.closing));
  if (request.method !== 'GET') omitWeakTag(raw);
  // A parser makes an object of an empty body.
  if (!hasBody(request)) request.body = undefined;
  const context = contextOf(request);
  context.isBodyRead = true;
  readBody(request, message)
    .catch((error: Error) => (context.unreadable = error))
    .finally(next);
}

/** Says what is wrong with a body, and checks one whose path looked like that of another route. */
export function checkBody(request: HttpRequest): void {
  const { isBodyRead, unreadable } = contextOf(request);
  if (unreadable) throw unreadable;
  // A request inside another one has a body that is checked.
  if (!isBodyRead && (rawOf(request) as object) === request) checkHarmless(request.body);
}

async function readBody(request: HttpRequest, message: IncomingMessage): Promise<void> {
  const { body, crudPlatform, headers } = request;
  const isLines = (headers['content-type'] ?? '').toLowerCase().startsWith(NDJSON_TYPE);
  if (!hasBody(request) || bodyError(request, isLines ? 'lines' : undefined)) return;
  const isRead = message.readableDidRead;
  if (isLines) {
    request.body = isRead ? linesOf(body) : streamBody(message);
    return;
  }
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  if (!isRead) request.body = await readJson(request, message, crudPlatform.bodyLimit);
  else if (isText) request.body = parseJson(Buffer.from(body));
  checkHarmless(request.body);
}

declare module '../../request/index.js' {
  interface RequestContext {
    isBodyRead?: boolean;
    /** What is wrong with the body, said after guards and middleware of the application. */
    unreadable?: Error;
  }
}

/** Express tags what it sends by its bytes. The response to a write is no representation that a condition may name. */
function omitWeakTag(response: ServerResponse): void {
  const { writeHead } = response;
  response.writeHead = (...head: unknown[]) => {
    if (String(response.getHeader('ETag')).startsWith('W/')) response.removeHeader('ETag');
    return Reflect.apply(writeHead, response, head);
  };
}
