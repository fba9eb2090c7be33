import { createParamDecorator, type ExecutionContext, RequestMethod, type Type } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DomainError, pathOf, type Problem, toProblem } from '../../errors/index.js';
import type { CarriedAnswer, CarriedRequest, Carry } from '../../http/index.js';
import { GENERATED_ROUTES, type ItemKind } from '../routes/routes.js';
import type { CreatePlace } from '../service/turns.js';
import type { Operation } from './operation.js';

/** The result of an item. A problem may be shortened to its status and code. */
export type ItemResult = { readonly status: number; readonly _id?: string; readonly code?: string } | Problem;

/** How long the problems in one response may be: this much, and as many times the request. Unit: bytes, times. */
const PROBLEM_BYTES = 65_536;
const PROBLEM_TIMES = 8;

/** An item that has its own route. */
export type Item = Exclude<Operation, { kind: 'malformed' }>;

/** Carries out the items of one batch, each as a request to its own route. */
export class Items {
  /** Class of the controller whose routes the items take. */
  readonly controller: Type<object>;
  private readonly carry: Carry;
  /** Size that further problems may have. Unit: bytes. */
  private room = PROBLEM_BYTES;
  /** Pattern and path of the resource, without the last segment of the batch's own path. */
  private readonly base: { readonly pattern: string; readonly path: string };

  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    controller: Type<object>,
  ) {
    this.controller = controller;
    this.carry = request.server.carriedRequests.of(request, reply);
    if (request.routeOptions.config.carriedBody !== 'lines')
      this.received(Number(request.headers['content-length'] ?? 0));
    this.base = { pattern: withoutLast(request.routeOptions.url ?? ''), path: withoutLast(pathOf(request)) };
  }

  /**
   * Carries out one item.
   *
   * @param number of the item in its batch, from 0
   */
  async carryOut(item: Item, number: number, place?: CreatePlace): Promise<ItemResult> {
    try {
      return resultOf(item.kind, await this.carry(this.requestOf(item, number, place)));
    } finally {
      place?.turn?.pass();
    }
  }

  /** The result of an item that the guards of its route refuse; undefined if they let it pass. */
  async refusalOf(item: Item): Promise<ItemResult | undefined> {
    const guardCheck = { isPassed: false };
    const answer = await this.carry(this.requestOf(item, 0, undefined, guardCheck));
    if (guardCheck.isPassed) return undefined;
    // A filter may have turned the refusal into something else.
    return answer.status < 400 ? { status: 403, code: 'FORBIDDEN' } : resultOf(item.kind, answer);
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

  /** The answer to an item that was not carried out. */
  refuse(error: DomainError, item?: Item): Problem {
    const path = item ? this.pathOf(item) : pathOf(this.request);
    return toProblem(error, { path, id: this.request.id });
  }

  private requestOf(
    item: Item,
    number: number,
    place: CreatePlace | undefined,
    guardCheck?: FastifyRequest['guardCheck'],
  ): CarriedRequest {
    const { method, path } = GENERATED_ROUTES[item.kind];
    const params = this.request.params as Record<string, string>;
    const { id, ifMatch, body } = { id: undefined, ifMatch: undefined, body: undefined, ...item };
    return {
      method: RequestMethod[method],
      pattern: path === '' ? this.base.pattern : `${this.base.pattern}/${path}`,
      path: this.pathOf(item),
      params: id === undefined ? params : { ...params, id },
      headers: ifMatch === undefined ? undefined : { 'if-match': ifMatch },
      body,
      // Decisions about the batch do not apply to its items.
      members: {
        tenantContext: undefined,
        tenantScope: undefined,
        crudQuery: undefined,
        crudPlace: place,
        guardCheck,
        idempotentExchange: undefined,
        reservation: this.request.reservation?.ofItem(number),
      },
    };
  }

  private pathOf(item: Item): string {
    if (item.kind === 'create') return this.base.path;
    // Through bytes and back: a lone surrogate cannot be encoded in a URL.
    return `${this.base.path}/${encodeURIComponent(Buffer.from(item.id.slice(0, MAX_ID)).toString())}`;
  }
}

/** How much of an invalid identifier an answer repeats. Unit: characters. */
const MAX_ID = 100;

function withoutLast(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function resultOf(kind: ItemKind, { status, body }: CarriedAnswer): ItemResult {
  const { _id, code } = (body ?? {}) as { _id?: unknown; code?: unknown };
  if (status >= 400 && typeof code === 'string') return body as Problem;
  return { status, ...(kind === 'create' && typeof _id === 'string' && { _id }) };
}

/** Injects the {@link Items} of a batch. */
export const CurrentItems = createParamDecorator((_data: unknown, context: ExecutionContext): Items => {
  const http = context.switchToHttp();
  return new Items(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), context.getClass());
});

declare module 'fastify' {
  interface FastifyRequest {
    /** Place of an item that is a create; set by the batch that carries it. */
    crudPlace?: CreatePlace;
  }
}
