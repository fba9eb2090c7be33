import { type CallHandler, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable, of } from 'rxjs';
import { IdempotencyKeys } from '../../idempotency/index.js';
import { applyScope, CallerIdentity, handlerName, isolationOf } from '../../tenancy/index.js';
import { AuditTrails } from '../audit/audit-trails.js';
import { CrudRegistry } from '../service/crud.registry.js';
import { Exchange } from './exchange.js';
import { ReplayInterceptor } from './replay.interceptor.js';
import { resourceOf } from './resource-metadata.js';

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
    trails: AuditTrails,
  ) {
    super(keys, reflector, identities, registry);
    this.exchange = new Exchange(registry, trails);
  }

  override intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    applyScope(request, isolationOf(context));
    return super.intercept(context, { handle: () => this.carryOut(request, context, next) });
  }

  private carryOut(
    request: FastifyRequest,
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> {
    if (request.guardCheck) {
      request.guardCheck.isPassed = true;
      return of(undefined);
    }
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const { definition, routes } = resourceOf(context.getClass());
    const route = routes.get(handlerName(context));
    const handle = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.exchange.carryOut({ request, reply, definition, route }, handle));
  }
}
