import {
  type ArgumentMetadata,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  Logger,
  type PipeTransform,
  StreamableFile,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { from, lastValueFrom, type Observable, of } from 'rxjs';
import { InvalidIdError, sendProblem, toDomainError } from '../../errors/index.js';
import { InputReader, markChecked } from '../../fields/index.js';
import { bodyFault, carriedBodyOf, queryOf } from '../../http/index.js';
import { IdempotencyKeys } from '../../idempotency/index.js';
import { isObjectId } from '../../ids/index.js';
import { type HttpRequest, type HttpResponse, idOf } from '../../platform/index.js';
import { applyScope, CallerIdentity, handlerName, isolationOf } from '../../tenancy/index.js';
import { readOperations } from '../batch/operation.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { readEntityTags } from '../definition/entity-tags.js';
import type { Stored } from '../options/records.js';
import { ARCHIVED_PARAMETER, requireArchived } from '../definition/archive.js';
import type { ListQuery } from '../query/list-query.js';
import { isPageQuery, readQuery } from '../query/read-query.js';
import { type BodyKind, isBatch, type Route } from '../routes/routes.js';
import { CrudRegistry } from '../service/crud-resource.js';
import { Expansion, isReadable } from '../service/readable-records.js';
import { answer, prefersRepresentation } from './answers.js';
import { reservePage } from './page-memory.js';
import { ReplayInterceptor } from './replay.interceptor.js';
import { resourceOf, type ResourceRequest } from './resource-metadata.js';

declare module '../../platform/index.js' {
  interface RequestState {
    /** Whether nobody needs the record that the handler changes. */
    isRecordUnread?: boolean;
  }
}

/** Reads the requests of resources, and answers with the results of their handlers. */
class Exchange {
  private readonly bodies = new BodyReaders();
  private readonly logger = new Logger('Problem');

  constructor(private readonly registry: CrudRegistry) {}

  /** Reads the request strictly, runs its handler, and returns the answer. */
  async carryOut(exchange: ResourceRequest, handle: () => Promise<unknown>): Promise<unknown> {
    const { request, definition, route } = exchange;
    const { tenantContext: caller, tenantScope: scope } = request;
    if (!caller || !scope) throw new Error('The request has no scope.');
    request.crudReply = exchange.reply;
    request.isRecordUnread = route?.isUnseen && !prefersRepresentation(request.headers.prefer);
    const resource = this.registry.of(definition.entity);
    scope.context.origin = { requestId: idOf(request), address: request.ip ?? '' };
    resource.requireIndexes();
    let result: unknown;
    try {
      await this.read(exchange);
      // Each item of a batch has its own check.
      if (!isBatch(route)) await resource.parents?.require(route?.action ?? 'get', scope);
      const { crudQuery: query } = request;
      if (query && isPageQuery(query)) await reservePage(request, exchange.reply, definition, query);
      result = await handle();
    } catch (error) {
      result = await this.recall(error, request, definition, route);
    }
    const { expand } = request.crudQuery ?? {};
    const expansion = expand && new Expansion(this.registry, scope, expand);
    const maySee = (record: Stored<object>) => isReadable(resource, scope, route?.action ?? 'get', record);
    const answered = await answer(result, { ...exchange, caller, expansion, maySee });
    // Express asks the file what to do about an error; that of Nest sends a text.
    if (answered !== result && answered instanceof StreamableFile)
      answered.setErrorHandler((error) => sendProblem(error, request, exchange.reply, this.logger));
    return answered;
  }

  /**
   * If an earlier request with the same key has already created the record, answers with it even if the
   * create would be rejected now, for example because of a limit that this very record has reached.
   */
  private async recall(
    error: unknown,
    request: HttpRequest,
    { entity }: CrudDefinition,
    route: Route | undefined,
  ): Promise<unknown> {
    const isRefusal = toDomainError(error, request.platform).status < 500;
    const { tenantScope: scope, body } = request;
    if (!isRefusal || route?.answer !== 'create' || !scope) throw error;
    const record = await this.registry.of(entity).writes.recall(scope, body as object);
    if (!record) throw error;
    return record;
  }

  private async read({ request, definition, route }: ResourceRequest): Promise<void> {
    const params = request.params as Record<string, string>;
    for (const name of ['id', definition.parent?.param]) {
      const value = name === undefined ? undefined : params[name];
      if (name !== undefined && value !== undefined) params[name] = checkId(value, name);
    }
    const tags = readEntityTags('If-Match', request.headers['if-match']);
    if (tags && params.id !== undefined && request.tenantScope)
      request.tenantScope.context.precondition = { id: params.id, tags };
    if (route?.reads) {
      request.crudQuery = readQuery(route.reads, queryOf(request), definition);
    } else if (route?.query.includes(ARCHIVED_PARAMETER)) {
      request.crudQuery = { archived: requireArchived(queryOf(request)) };
    }
    if (route?.body !== undefined) {
      request.body = await this.bodies.read(request.body, definition, route.body);
    } else if (request.body !== undefined && request.body !== null && request.tenantScope) {
      request.tenantScope.context.hasUnreadBody = true;
    }
  }
}

/** Reads the bodies of routes, strictly; see {@link InputReader}. */
class BodyReaders {
  private readonly own = new Map<Type<object>, InputReader<object>>();

  /** @throws ValidationError that names every fault */
  async read(body: unknown, { createReader, updateReader }: CrudDefinition, kind: BodyKind): Promise<object> {
    if (kind === 'create') return markChecked(await createReader.read(body), createReader);
    if (kind === 'update') return markChecked(await updateReader.readPatch(body), updateReader);
    if (kind === 'operations') return readOperations(body);
    if (kind === 'lines') return body as object;
    const reader = this.own.get(kind) ?? new InputReader(kind);
    this.own.set(kind, reader);
    return reader.read(body);
  }
}

/**
 * Makes the scope of a request, carries a keyed one out once, reads it before its handler runs, and sends the
 * handler's result. It is set on the class and replaces the raw identifiers, query and body with checked ones, so that
 * a decorator on an override cannot bypass a check.
 */
@Injectable()
export class CrudInterceptor extends ReplayInterceptor {
  private readonly exchange: Exchange;

  constructor(
    keys: IdempotencyKeys,
    reflector: Reflector,
    identities: CallerIdentity,
    registry: CrudRegistry,
  ) {
    super(keys, reflector, identities, registry);
    this.exchange = new Exchange(registry);
  }

  override intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const fault = bodyFault(request, carriedBodyOf(context.getHandler()));
    if (fault) throw fault;
    applyScope(request, isolationOf(context));
    return super.intercept(context, { handle: () => this.carryOut(request, context, next) });
  }

  private carryOut(request: HttpRequest, context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (request.guardCheck) {
      request.guardCheck.isPassed = true;
      return of(undefined);
    }
    const reply = context.switchToHttp().getResponse<HttpResponse>();
    const { definition, routes } = resourceOf(context.getClass());
    const route = routes.get(handlerName(context));
    const handle = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.exchange.carryOut({ request, reply, definition, route }, handle));
  }
}

declare module '../../platform/index.js' {
  interface RequestState {
    /** The query of the request; set by the CrudInterceptor for handlers that read. */
    crudQuery?: ListQuery;
  }
}

/** Injects the query of the request: filter, order, page, fields. */
export const CurrentQuery = createParamDecorator(
  (_data: unknown, context: ExecutionContext): ListQuery =>
    context.switchToHttp().getRequest<HttpRequest>().crudQuery ?? {},
);

/**
 * Accepts only object identifiers: 24 hexadecimal digits, which are returned in lower case.
 *
 * @throws InvalidIdError that names the parameter
 */
function checkId(value: string, parameter: string): string {
  if (!isObjectId(value)) throw new InvalidIdError(parameter);
  return value.toLowerCase();
}

/** Checks an identifier in the path of a hand-written controller, and returns it in lower case. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  /** @throws InvalidIdError */
  transform(value: string, { data }: ArgumentMetadata): string {
    return checkId(value, data ?? 'id');
  }
}
