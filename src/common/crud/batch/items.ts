import { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext, RequestMethod, type Type } from '@nestjs/common';
import { type DomainError, pathOf, type Problem, toProblem } from '../../errors/index.js';
import { contextOf, type HttpRequest, type HttpResponse, idOf, rawOf } from '../../request/index.js';
import { metadataOf } from '../pipeline/plan.js';
import { patternOf } from '../platform/sub-requests.js';
import { GENERATED_ROUTES, itemRouteOf } from '../routes/routes.js';
import type { UnitOfWork } from '../service/unit-of-work.js';
import type { Operation } from './operation.js';

/** The result of an item. A problem may be shortened to its status and code. */
export type ItemResult = { readonly status: number; readonly _id?: string; readonly code?: string } | Problem;

/** How long the problems in one response may be: this much, and as many times the request. Unit: bytes, times. */
const PROBLEM_BYTES = 65_536;
const PROBLEM_TIMES = 8;

/** Makes the turns of concurrent writes, each ready when the one before is released, so that new records keep their order. */
export function writeOrder(): () => WriteTurn {
  let last: Promise<void> = Promise.resolve();
  return () => {
    const ready = last;
    let release: () => void = () => undefined;
    last = new Promise((resolve) => (release = resolve));
    return { ready, release, released: last };
  };
}

/** One turn. Its holder must release it, however the write ends. */
export interface WriteTurn {
  readonly ready: Promise<void>;
  readonly release: () => void;
  readonly released: Promise<void>;
}

/** Carries out the items of one batch, each as a request to its own route. */
export class Items {
  /** Size that further problems may have. Unit: bytes. */
  private room = PROBLEM_BYTES;
  /** Path of the resource: that of the batch without its last segment. */
  private readonly path: string;

  /** @param controller whose routes the items take. @param unit that the items are part of */
  constructor(
    readonly request: HttpRequest,
    readonly reply: HttpResponse,
    readonly controller: Type<object>,
    readonly unit?: UnitOfWork,
  ) {
    // Code that each item runs through may listen for the end of the batch.
    for (const emitter of [rawOf(request), rawOf(reply)]) emitter.setMaxListeners(0);
    if (!(request.body instanceof Readable)) this.received(Number(request.headers['content-length'] ?? 0));
    this.path = parentOf(pathOf(request));
  }

  /** The same items as a part of a unit of work. */
  within(unit: UnitOfWork | undefined): Items {
    return new Items(this.request, this.reply, this.controller, unit);
  }

  /** @param number of the item in its batch, from 0 */
  async carryOut(item: Operation, number: number, writeTurn?: WriteTurn): Promise<ItemResult> {
    if (item.kind === 'malformed') return this.reject(item.error);
    const { controller, reply, request, unit } = this;
    const path = this.pathOf(item);
    const route = itemRouteOf(metadataOf(controller), item.kind);
    if (!route) {
      const method = RequestMethod[GENERATED_ROUTES[item.kind].method];
      return this.reject(request.crudPlatform.pathErrorOf({ method, url: path }), item);
    }
    const reservation = contextOf(request).reservation?.ofItem(number);
    const context = { writeTurn, unit, reservation };
    const pattern = [parentOf(patternOf(request)), route.path].filter(Boolean).join('/');
    const sent = { ...partsOf(item, request), path, pattern, context };
    const { subRequests } = request.crudPlatform;
    const { status, body, location } = await subRequests.send(controller, route, sent, request, reply);
    const { _id, code } = (body ?? {}) as { _id?: unknown; code?: unknown };
    if (status >= 400 && typeof code === 'string') return body as Problem;
    // Where an interceptor has changed the body, the header names the record.
    const created = _id ?? location?.split('/').at(-1);
    return { status, ...(item.kind === 'create' && typeof created === 'string' && { _id: created }) };
  }

  /** Counts a part of the request. */
  received(bytes: number): void {
    this.room += PROBLEM_TIMES * bytes;
  }

  /** A result as it is sent: without texts if those before it are much longer than the request. */
  sent(result: ItemResult): ItemResult {
    if (!('detail' in result)) return result;
    this.room -= JSON.stringify(result).length;
    return this.room > 0 ? result : { status: result.status, code: result.code };
  }

  /** The response to an item that was not carried out. */
  reject(error: DomainError, operation?: Operation): Problem {
    const isItem = operation && operation.kind !== 'malformed';
    const path = isItem ? this.pathOf(operation) : pathOf(this.request);
    return toProblem(error, { path, id: idOf(this.request) });
  }

  private pathOf(item: Operation): string {
    if (!('id' in item)) return this.path;
    // Through bytes and back: a lone surrogate cannot be encoded in a URL.
    return `${this.path}/${encodeURIComponent(Buffer.from(item.id.slice(0, MAX_ID)).toString())}`;
  }
}

/** A path without its last segment. */
function parentOf(path: string): string {
  return path.replace(/\/[^/]+\/?$/, '');
}

/** What an item says in the path, headers and body of a request of its own. */
export function partsOf(item: Operation, request: HttpRequest) {
  const { id, ifMatch, body } = { id: undefined, ifMatch: undefined, body: undefined, ...item };
  const params = request.params as Record<string, string>;
  return {
    params: id === undefined ? params : { ...params, id },
    headers: ifMatch === undefined ? undefined : { 'if-match': ifMatch },
    body,
  };
}

/** How much of an invalid identifier a response repeats. Unit: characters. */
const MAX_ID = 100;

/** Injects the {@link Items} of a batch. */
export const CurrentItems = createParamDecorator((_data: unknown, context: ExecutionContext): Items => {
  const http = context.switchToHttp();
  return new Items(http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>(), context.getClass());
});

declare module '../../request/index.js' {
  interface RequestContext {
    /** When the record of an item that is a create may be stored; released once a write waits for its command. @default at once */
    writeTurn?: WriteTurn;
  }
}
