import type { ServerResponse } from 'node:http';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';
import { PathNotFoundError, pathOf, sendProblem, serverRejection } from '../../errors/index.js';
import { StreamSlots } from '../../http/index.js';
import { type HttpRequest, type HttpResponse, type Platform, rawOf } from '../../request/index.js';
import { checkBody } from './express-body.js';
import type { PlatformParts } from './platform.js';

type Next = (error?: unknown) => void;
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
    checkBody,
    beforeSend: (_request, response, settle) => holdBack(rawOf(response), settle),
  };
  Object.defineProperty(app.request, 'platform', { get: () => platform, configurable: true });
}

/**
 * Gives what the application's own parser rejects the format of all errors, for requests to the routes of resources.
 *
 * @param controllers of the application, in the order of their routes
 */
export function handleExpressErrors(
  app: ExpressApp,
  controllers: readonly Type<object>[],
  isOfResource: (controller: Type<object>) => boolean,
): void {
  // A path that ends like those of several routes is that of the longest one.
  const routes = controllers.flatMap(routesOf).toSorted((a, b) => b.literals - a.literals);
  app.use((error, request, response, next) => {
    const { status, errno, type, limit } = error as ParserError;
    const isOfParser = (type ?? errno) !== undefined && typeof status === 'number' && status < 500;
    const route = routes.find(
      ({ method, parts }) => method === request.method && endsLike(pathOf(request), parts),
    );
    if (!isOfParser || !route || !isOfResource(route.controller)) return next(error);
    sendProblem(serverRejection(status, error, limit), request, response);
  });
}

/** The routes of a controller, below everything that the application puts before it. */
function routesOf(controller: Type<object>) {
  const prototype = controller.prototype as Record<string, object>;
  const pathsOf = (target: object) =>
    [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name] as object;
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
    if (method === undefined) return [];
    return pathsOf(controller).flatMap((base) =>
      pathsOf(handler).map((path) => {
        const parts = `${base}/${path}`.split('/').filter((part) => part !== '');
        return { controller, method, parts, literals: parts.filter((part) => !part.startsWith(':')).length };
      }),
    );
  });
}

/** Whether a path ends like the parts of a pattern such as `/todos/:id`, as Express compares them unless told otherwise. */
function endsLike(path: string, pattern: readonly string[]): boolean {
  const parts = path.toLowerCase().replace(/\/$/, '').split('/').slice(-pattern.length);
  return pattern.every((name, i) => name.startsWith(':') || name.toLowerCase() === parts[i]);
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
