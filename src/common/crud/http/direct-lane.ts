import { Logger, RequestMethod } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from '../../errors/index.js';
import { type DirectHandler, queryFault } from '../../http/index.js';
import { isObjectId } from '../../ids/index.js';
import { applyScope, type Callers, decideCaller, type IsolationFields } from '../../tenancy/index.js';
import { CrudService } from '../service/crud.service.js';
import type { Route } from '../routes/routes.js';
import { JsonText } from './answers.js';
import type { Exchange } from './exchange.js';
import { prefersRepresentation } from './prefer.js';
import type { DirectHandlerName, ResourceMetadata } from './resource-metadata.js';

/** The handlers that have a direct lane, their arguments after the scope, and the verbs that they call. */
export const DIRECT_HANDLERS = {
  create: { verb: 'create', args: ({ body }: FastifyRequest) => [body] },
  list: { verb: 'page', args: ({ crudQuery = {} }: FastifyRequest) => [crudQuery] },
  count: { verb: 'count', args: ({ crudQuery = {} }: FastifyRequest) => [crudQuery] },
  get: { verb: 'get', args: (request: FastifyRequest) => [idOf(request), request.crudQuery ?? {}] },
  update: { verb: 'update', args: (request: FastifyRequest) => [idOf(request), request.body] },
  del: { verb: 'del', args: (request: FastifyRequest) => [idOf(request)] },
} as const satisfies Record<
  DirectHandlerName,
  { verb: keyof CrudService<object, object>; args: (request: FastifyRequest) => readonly unknown[] }
>;

/** Everything that a lane needs to serve requests. */
export interface DirectLane {
  readonly resource: ResourceMetadata;
  readonly route: Route & { readonly handler: DirectHandlerName };
  /** The generated method of the controller. */
  readonly method: (...args: unknown[]) => unknown;
  /** The controller that the method is called on. */
  readonly host: { readonly service: CrudService<object, object> };
  readonly isolation: (query: FastifyRequest['query']) => IsolationFields;
  readonly callers: Callers;
  readonly exchange: Exchange;
  /** Sends an answer that is not text, as Nest does. */
  readonly send: (reply: FastifyReply, body: unknown) => unknown;
}

const UPDATE = CrudService.prototype.update;

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Serves the plain requests of a wholly generated route in the same steps as Nest's chain would. Anything
 * unusual, such as a stream, a key, or an invalid parameter, is left to the chain.
 */
export function directLane({ resource, route, ...lane }: DirectLane): DirectHandler {
  const { definition } = resource;
  const { args } = DIRECT_HANDLERS[route.handler];
  const method = RequestMethod[route.method];
  const logger = new Logger('Problem');

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      const fields = lane.isolation(request.query);
      await decideCaller(request, fields, lane.callers);
      reply.code(route.status);
      const scope = applyScope(request, fields);
      const carryOut = isUnread(request, route) && isOriginal(lane.host) ? updateUnread : lane.method;
      const handle = () => Promise.resolve(carryOut.call(lane.host, scope, ...args(request)));
      const body = await lane.exchange.carryOut({ request, reply, definition, route, asText: true }, handle);
      if (body instanceof JsonText) void reply.type(JSON_TYPE).send(body.text);
      else lane.send(reply, body);
    } catch (error) {
      sendProblem(error, request, reply, logger);
    }
  }

  return (request, reply) => {
    const isPlain = request.method === method && hasPlainQuery(request, route) && hasPlainParams(request);
    return isPlain && isPlainHere(request, route.handler) ? serve(request, reply) : undefined;
  };
}

/** Whether the record that an update returns is not needed. */
function isUnread({ headers }: FastifyRequest, { handler }: Route): boolean {
  return handler === 'update' && !prefersRepresentation(headers.prefer);
}

/** Whether the verb is still the generated one: someone may have replaced it since the start. */
function isOriginal({ service }: DirectLane['host']): boolean {
  return service.update === UPDATE;
}

/** Used in place of the generated method if the returned record is not needed. */
function updateUnread(this: DirectLane['host'], ...args: unknown[]): Promise<void> {
  return this.service.updateUnread(...(args as Parameters<CrudService<object, object>['updateUnread']>));
}

function isPlainHere({ headers, query }: FastifyRequest, handler: DirectHandlerName): boolean {
  if (handler === 'create') return headers['idempotency-key'] === undefined;
  if (handler !== 'list') return true;
  const { accept = '*/*' } = headers;
  return 'limit' in (query as object) && (accept === '*/*' || accept === 'application/json');
}

/**
 * Whether the chain is not needed to reject the query: no repeated parameters, and none if the route reads
 * none.
 */
function hasPlainQuery({ query }: FastifyRequest, { reads }: Route): boolean {
  if (queryFault(query) !== undefined) return false;
  for (const value of Object.values(query as object)) if (!reads || typeof value !== 'string') return false;
  return true;
}

function hasPlainParams({ params }: FastifyRequest): boolean {
  for (const value of Object.values(params as object)) if (!isObjectId(value)) return false;
  return true;
}

function idOf({ params }: FastifyRequest): string {
  return (params as { id: string }).id;
}
