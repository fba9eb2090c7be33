import type { FastifyRequest } from 'fastify';
import type { Type } from '@nestjs/common';
import { toDomainError } from '../../errors/index.js';
import { bindOrigin } from '../audit/audit-origin.js';
import type { AuditTrails } from '../audit/audit-trails.js';
import { markUnread, markChecked } from '../definition/checked-bodies.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { readEntityTags } from '../definition/entity-tags.js';
import type { Stored } from '../options/records.js';
import { ARCHIVED_PARAMETER, requireArchived } from '../query/archived.js';
import { readQuery } from '../query/read-query.js';
import { isBatch, type Route, type BodyKind } from '../routes/routes.js';
import type { CrudRegistry } from '../service/crud.registry.js';
import { Expansion } from '../service/expansion.js';
import { isReadable } from '../service/readable-records.js';
import { requireTags } from '../service/preconditions.js';
import { placeCreate } from '../service/turns.js';
import { InputReader } from '../../fields/index.js';
import { readOperations } from '../batch/operation.js';
import { answer } from './answers.js';
import { checkId } from './id.pipe.js';
import { reservePage } from './page-memory.js';
import { prefersRepresentation } from './prefer.js';
import type { ResourceRequest } from './resource-request.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether nobody needs the record that the handler changes. */
    isRecordUnread?: boolean;
  }
}

/** Reads the requests of resources, and answers with the results of their handlers. */
export class Exchange {
  private readonly bodies = new BodyReaders();

  constructor(
    private readonly registry: CrudRegistry,
    private readonly trails: AuditTrails,
  ) {}

  /** Reads the request strictly, runs its handler, and returns the answer. */
  async carryOut(exchange: ResourceRequest, handle: () => Promise<unknown>): Promise<unknown> {
    const { request, definition, route } = exchange;
    const { tenantContext: caller, tenantScope: scope } = request;
    if (!caller || !scope) throw new Error('The request has no scope.');
    request.crudReply = exchange.reply;
    request.isRecordUnread = route?.isUnseen && !prefersRepresentation(request.headers.prefer);
    if (this.trails.areKept) bindOrigin(scope, { requestId: request.id, address: request.ip });
    let result: unknown;
    try {
      await this.read(exchange);
      // Each item of a batch has its own check.
      if (definition.parent && !isBatch(route))
        await this.registry.of(definition.entity).parents.require(route?.action ?? 'get', scope);
      await reservePage(request, exchange.reply, definition);
      result = await handle();
    } catch (error) {
      result = await this.recall(error, request, definition, route);
    }
    const { expand } = request.crudQuery ?? {};
    const expansion = expand && new Expansion(this.registry, scope, expand);
    const resource = this.registry.of(definition.entity);
    const maySee = (record: Stored<object>) => isReadable(resource, scope, route?.action ?? 'get', record);
    return answer(result, { ...exchange, caller, expansion, maySee });
  }

  /**
   * If an earlier request with the same key has already created the record, answers with it even if the
   * create would be rejected now, for example because of a limit that this very record has reached.
   */
  private async recall(
    error: unknown,
    request: FastifyRequest,
    { entity }: CrudDefinition,
    route: Route | undefined,
  ): Promise<unknown> {
    const isRefusal = toDomainError(error, request.routeOptions).status < 500;
    const { tenantScope: scope, body } = request;
    if (!isRefusal || route?.answer !== 'create' || !scope) throw error;
    const record = await this.registry.of(entity).creates.recall(scope, body as object);
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
      requireTags(request.tenantScope, params.id, tags);
    if (request.crudPlace && request.tenantScope) placeCreate(request.tenantScope, request.crudPlace);
    if (route?.reads) {
      request.crudQuery = readQuery(route.reads, request.query as Record<string, unknown>, definition);
    } else if (route?.query.includes(ARCHIVED_PARAMETER)) {
      request.crudQuery = { archived: requireArchived(request.query as Record<string, unknown>) };
    }
    if (route?.body !== undefined) {
      request.body = await this.bodies.read(request.body, definition, route.body);
    } else if (request.body !== undefined && request.body !== null && request.tenantScope) {
      markUnread(request.tenantScope);
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
