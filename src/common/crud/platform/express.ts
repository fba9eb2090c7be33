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
  Object.defineProperty(app.request, 'crudPlatform', { get: () => platform, configurable: true });
}

/** Gives what the application's own parser rejects the format of all errors, for requests to the routes of resources. */
export function handleExpressErrors(app: ExpressApp, isOfResource: (request: HttpRequest) => boolean): void {
  app.use((error, request, response, next) => {
    const { status, errno, type, limit } = error as ParserError;
    const isOfParser = (type ?? errno) !== undefined && typeof status === 'number' && status < 500;
    if (!isOfParser || !isOfResource(request)) return next(error);
    sendProblem(serverRejection(status, error, limit), request, response);
  });
}

/**
 * Tells whose route a request will take, before Express looks for it.
 *
 * @param controllers of the application, in the order of their routes
 * @param prefix of all their paths
 */
export function ownerOfRoutes(controllers: readonly Type<object>[], prefix: string) {
  // A path that ends like those of several routes is that of the longest one.
  const routes = controllers.flatMap(routesOf).toSorted((a, b) => b.literals - a.literals);
  const before = `/${partsOf(prefix).join('/')}/`;
  return (request: HttpRequest): Type<object> | undefined => {
    const path = pathOf(request);
    const parts = partsOf(path.startsWith(before) ? path.slice(before.length) : path);
    return routes.find((route) => route.method === request.method && endsLike(parts, route.parts))
      ?.controller;
  };
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
        const parts = partsOf(`${base}/${path}`);
        return { controller, method, parts, literals: parts.filter((part) => !part.startsWith(':')).length };
      }),
    );
  });
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

/** Whether a path ends like a pattern such as `/todos/:id`, as Express compares them unless told otherwise. */
function endsLike(path: readonly string[], pattern: readonly string[]): boolean {
  const end = path.slice(-pattern.length);
  const isSame = (name: string, i: number) =>
    name.startsWith(':') || name.toLowerCase() === end[i]?.toLowerCase();
  return pattern.length > 0 && end.length === pattern.length && pattern.every(isSame);
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
