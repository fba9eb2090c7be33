import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  StreamableFile,
  type Type,
} from '@nestjs/common';
import { from, lastValueFrom, type Observable, of } from 'rxjs';
import { InvalidIdError, PreconditionFailedError, sendProblem, toDomainError } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { bodyError, bodyFormatOf, checkQuery, queryOf } from '../../http/index.js';
import { IdempotencyInterceptor, type Replay } from '../../idempotency/index.js';
import { isObjectId } from '../../ids/index.js';
import { contextOf, type HttpRequest, type HttpResponse, idOf } from '../../request/index.js';
import { applyScope, handlerName, isolationOf, type TenantScope } from '../../tenancy/index.js';
import { readEntityTags, requiredTags, withTags } from '../definition/entity-tags.js';
import { rejectForbidden } from '../definition/field-rules.js';
import type { Stored } from '../options/records.js';
import type { ListQuery } from '../query/list-query.js';
import { readBodyQuery } from '../query/read-body.js';
import { isPageQuery, readQuery } from '../query/read-query.js';
import { CrudRegistry, type CrudResource } from '../service/crud-resource.js';
import { expand, isReadable } from '../service/readable-records.js';
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
    request.platform.checkBody?.(request);
    applyScope(request, isolationOf(context));
    const { guardCheck } = contextOf(request);
    if (guardCheck) {
      guardCheck.isPassed = true;
      return of(undefined);
    }
    const call = callOf(context);
    const handle = () => from(this.carryOut(call, next));
    return call.route?.reads ? handle() : super.intercept(context, { handle });
  }

  /** Reads the request strictly, runs its handler, and returns the response. */
  private async carryOut(call: Call, next: CallHandler): Promise<unknown> {
    const { definition, reply, request, route, scope } = call;
    const { context } = scope;
    const known = this.registry.of(definition.entity);
    const resource = context.unit?.of(known) ?? known;
    context.reply = reply;
    context.isRecordUnread = route?.isUncustomised && !prefersRepresentation(request.headers.prefer);
    context.origin = { requestId: idOf(request), address: request.ip ?? '' };
    resource.parts.requireIndexes();
    let result: unknown;
    try {
      await read(call, resource);
      // Each item of a batch has its own check.
      if (!call.isBatch) await resource.parents?.require(route?.action ?? 'get', scope);
      if (call.takesIfMatch && route?.kind === 'own') await requireTags(call, resource);
      if (context.query && isPageQuery(context.query)) await reservePage(call, context.query);
      result = await lastValueFrom(next.handle(), { defaultValue: undefined });
    } catch (error) {
      result = await recordOfEarlierAttempt(error, call, resource);
    }
    const references = context.query?.expand;
    const expansion =
      references && ((shown: readonly object[]) => expand(shown, references, scope, this.registry));
    const maySee = (record: Stored<object>) => isReadable(resource, scope, route?.action ?? 'get', record);
    const answered = await respond(result, { ...call, expansion, maySee });
    // Express asks the file what to do about an error; that of Nest sends a text.
    if (answered !== result && answered instanceof StreamableFile)
      answered.setErrorHandler((error) => sendProblem(error, request, reply));
    return answered;
  }

  protected override permitted(stored: Replay, context: ExecutionContext): Promise<Replay> {
    const call = callOf(context);
    return permittedPart(stored, call, this.registry.of(call.definition.entity));
  }
}

/** A request whose scope has been made. */
function callOf(context: ExecutionContext): Call {
  const http = context.switchToHttp();
  const [request, reply] = [http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>()];
  const controller = context.getClass();
  const { scope } = contextOf(request);
  if (!scope) throw new Error('The request has no scope.');
  return { ...planOf(controller, handlerName(context)), request, reply, controller, scope };
}

/** Replaces the identifiers, the query and the body of a request with checked ones. */
async function read(call: Call, resource: CrudResource): Promise<void> {
  const { definition, request, route, scope } = call;
  const { context } = scope;
  const params = request.params as Record<string, string>;
  for (const name of ['id', definition.parent?.param]) {
    const value = name === undefined ? undefined : params[name];
    if (name !== undefined && value !== undefined) params[name] = checkId(value, name);
  }
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
  if (call.readBody)
    request.body = await call.readBody(request.body, { concealed }, await readerOf(call, resource));
  else if (request.body !== undefined && request.body !== null) context.hasUnreadBody = true;
}

/** What reads the change of a record that the path names, if records are of several kinds. */
async function readerOf({ definition, isInput, request, route, scope }: Call, resource: CrudResource) {
  const { id } = request.params as { id?: string };
  if (!definition.kinds || !isInput || route?.action !== 'update' || id === undefined) return undefined;
  await resource.parents?.require('update', scope);
  return resource.readerOf(resource.access.filter('update', scope, id));
}

/** Checks `If-Match` before a handler of your own, which may call no verb that does; not where a key resumes an earlier attempt. */
async function requireTags({ definition, request, route, scope }: Call, { access, store }: CrudResource) {
  const { id } = request.params as { id?: string };
  if (id === undefined || !scope.context.precondition || scope.context.reservation?.resumed) return;
  const filter = access.filter(route?.action ?? 'update', scope, id);
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
async function recordOfEarlierAttempt(
  error: unknown,
  { request, route, scope }: Call,
  resource: CrudResource,
): Promise<unknown> {
  const isClientError = toDomainError(error, request.platform).status < 500;
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
