import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  type Type,
} from '@nestjs/common';
import { from, lastValueFrom, type Observable, of } from 'rxjs';
import { InvalidIdError, PreconditionFailedError, toDomainError } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { bodyError, bodyFormatOf, checkQuery, queryOf } from '../../http/index.js';
import { IdempotencyInterceptor } from '../../idempotency/index.js';
import { isObjectId } from '../../ids/index.js';
import { contextOf, type HttpRequest, type HttpResponse, idOf } from '../../request/index.js';
import { applyScope, handlerName, isolationOf, type TenantScope } from '../../tenancy/index.js';
import { readEntityTags, requiredTags, withTags } from '../definition/entity-tags.js';
import { rejectForbidden } from '../definition/field-rules.js';
import type { ListQuery } from '../query/list-query.js';
import { readBodyQuery } from '../query/read-body.js';
import { isPageQuery, readQuery } from '../query/read-query.js';
import { CrudRegistry, type CrudResource } from '../service/crud-resource.js';
import { prefersRepresentation, reservePage, respond } from './respond.js';
import { planOf, type RoutePlan } from './plan.js';
import { permittedPart } from './replays.js';

declare module '../../request/index.js' {
  interface RequestContext {
    /** The response to a request of a resource. */
    reply?: HttpResponse;
    /** The query, for handlers that read. */
    query?: ListQuery;
    /** Whether nobody needs the record that the handler changes. */
    isRecordUnread?: boolean;
    /** Set if the request only asks the guards of its route: it must not be carried out. */
    guardCheck?: { isPassed: boolean };
  }
}

/** A request to a resource, with the plan of its route. */
export interface Call extends RoutePlan {
  readonly request: HttpRequest;
  readonly reply: HttpResponse;
  readonly controller: Type<object>;
  readonly scope: TenantScope;
  /** In the transaction, if the request is an item of an atomic batch. */
  readonly resource: CrudResource;
}

/**
 * The path of every request to a resource: scope, key, input, verb, response. It is set on the class and replaces the raw
 * identifiers, query and body with checked ones, so that a decorator on an override cannot bypass a check.
 */
@Injectable()
export class CrudInterceptor extends IdempotencyInterceptor {
  @Inject(CrudRegistry)
  private readonly registry!: CrudRegistry;

  override async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    checkQuery(request, context.getHandler());
    const error = bodyError(request, bodyFormatOf(context.getHandler()));
    if (error) throw error;
    request.crudPlatform.checkBody?.(request);
    const scope = applyScope(request, isolationOf(context));
    const { guardCheck, unit } = scope.context;
    if (guardCheck) {
      guardCheck.isPassed = true;
      return of(undefined);
    }
    const controller = context.getClass();
    const plan = planOf(controller, handlerName(context));
    const known = this.registry.of(plan.definition.entity);
    const reply = context.switchToHttp().getResponse<HttpResponse>();
    scope.context.reply = reply;
    const call = { ...plan, request, reply, controller, scope, resource: unit?.of(known) ?? known };
    const handle = () => from(carryOut(call, next));
    if (call.route?.reads) return handle();
    return super.intercept(context, { handle }, (stored) => permittedPart(stored, call));
  }
}

/** Reads the request strictly, runs its handler, and returns the response. */
async function carryOut(call: Call, next: CallHandler): Promise<unknown> {
  const { action, request, resource, route, scope } = call;
  const { context } = scope;
  context.isRecordUnread = route?.isUncustomised && !prefersRepresentation(request.headers.prefer);
  context.origin = { requestId: idOf(request), address: request.ip ?? '' };
  resource.parts.requireIndexes();
  let result: unknown;
  try {
    await read(call);
    // Each item of a batch has its own check.
    if (!call.isBatch) await resource.parents?.require(action, scope);
    if (call.takesIfMatch && route?.kind === 'own') await requireTags(call);
    if (context.query && isPageQuery(context.query)) await reservePage(call, context.query);
    result = await lastValueFrom(next.handle(), { defaultValue: undefined });
  } catch (error) {
    result = await recordOfEarlierAttempt(error, call);
  }
  return respond(result, call);
}

/** Replaces the identifiers, the query and the body of a request with checked ones. */
async function read(call: Call): Promise<void> {
  const { definition, request, route, scope } = call;
  const { context } = scope;
  const params = request.params as Record<string, string>;
  for (const name of ['id', definition.parent?.param ?? 'id'])
    if (params[name] !== undefined) params[name] = checkId(params[name], name);
  const tags = readEntityTags('If-Match', request.headers['if-match']);
  if (tags && (params.id !== undefined || call.takesIfMatch))
    context.precondition = { entity: definition.entity, id: params.id, tags };
  const view = definition.viewOf?.(scope.caller) ?? definition;
  if (route?.body === 'query') context.query = readBodyQuery(request.body, view);
  else if (route?.reads)
    context.query = readQuery(route.reads, queryOf(request) as Record<string, string>, view);
  await readTexts(call);
  const { fieldRules } = definition;
  const hasRules = call.isInput && fieldRules.size > 0;
  const concealed = hasRules ? rejectForbidden(fieldRules, scope.caller, request.body) : [];
  if (route?.consumes !== undefined) {
    // An interceptor of the handler may be what parses it.
    const get = () => isPlainObject(request.body) && Object.keys(request.body).length > 0;
    Object.defineProperty(context, 'hasUnreadBody', { get, configurable: true, enumerable: true });
    return;
  }
  if (call.readBody) request.body = await call.readBody(request.body, { concealed }, await readerOf(call));
  else if (request.body !== undefined && request.body !== null) context.hasUnreadBody = true;
}

/** What reads the change of a record that the path names, if records are of several kinds. */
async function readerOf({ action, definition, isInput, request, resource, scope }: Call) {
  const { id } = request.params as { id?: string };
  if (!definition.kinds || !isInput || action !== 'update' || id === undefined) return undefined;
  await resource.parents?.require('update', scope);
  return resource.readerOf(resource.access.filter('update', scope, id));
}

/** Checks `If-Match` before a handler of your own, which may call no verb that does; not where a key resumes an earlier attempt. */
async function requireTags({ action, definition, request, resource, scope }: Call) {
  const { access, store } = resource;
  const { id } = request.params as { id?: string };
  if (id === undefined || !scope.context.precondition || scope.context.reservation?.resumed) return;
  const filter = access.filter(action, scope, id);
  const tagged = withTags(filter, requiredTags(scope, definition.entity, id));
  if (!(await store.exists(tagged)) && (await store.exists(filter))) throw new PreconditionFailedError();
}

/** Replaces the query and the declared headers of a route of your own with the values of their classes. */
async function readTexts({ readHeaders, readQuery: reader, request }: Call): Promise<void> {
  const { headers } = request;
  if (reader) {
    const parameters = queryOf(request);
    const value = await reader.read((name) => parameters[name] as string | undefined);
    // That of Express is a getter.
    Object.defineProperty(request, 'query', { value, configurable: true, enumerable: true, writable: true });
  }
  if (!readHeaders) return;
  const values = await readHeaders.read((name) => headers[name.toLowerCase()] as string | undefined);
  for (const [name, value] of Object.entries(values))
    (headers as Record<string, unknown>)[name.toLowerCase()] = value;
}

/** The record that an earlier request with the same key has created, even if the create would be rejected now. */
async function recordOfEarlierAttempt(error: unknown, call: Call): Promise<unknown> {
  const { request, resource, route, scope } = call;
  const isClientError = toDomainError(error, request.crudPlatform).status < 500;
  if (!isClientError || route?.kind !== 'create') throw error;
  const record = await resource.writes.findEarlierCreate(scope, request.body as object);
  if (!record) throw error;
  return record;
}

/** Injects the query of the request: filter, order, page, fields. */
export const CurrentQuery = createParamDecorator(
  (_data: unknown, context: ExecutionContext): ListQuery =>
    contextOf(context.switchToHttp().getRequest<HttpRequest>()).query ?? {},
);

/** Accepts 24 hexadecimal digits only, and returns them in lower case. @throws InvalidIdError that names the parameter */
export function checkId(value: string, parameter: string): string {
  if (!isObjectId(value)) throw new InvalidIdError(parameter);
  return value.toLowerCase();
}
