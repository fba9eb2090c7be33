import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable, of } from 'rxjs';
import { handlerName } from '../../tenancy/index.js';
import { AuditTrails } from '../audit/audit-trails.js';
import { CrudRegistry } from '../service/crud.registry.js';
import { Exchange } from './exchange.js';
import { resourceOf } from './resource-metadata.js';

/**
 * Reads the request before a handler runs, and sends the handler's result. It is set on the class and
 * replaces the raw identifiers, query and body with checked ones, so that a decorator on an override cannot
 * bypass a check.
 */
@Injectable()
export class CrudInterceptor implements NestInterceptor {
  private readonly exchange: Exchange;

  constructor(registry: CrudRegistry, trails: AuditTrails) {
    this.exchange = new Exchange(registry, trails);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const [request, reply] = [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
    if (request.guardCheck) {
      request.guardCheck.isPassed = true;
      return of(undefined);
    }
    const { definition, routes } = resourceOf(context.getClass());
    const route = routes.get(handlerName(context));
    const handle = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.exchange.carryOut({ request, reply, definition, route }, handle));
  }
}
