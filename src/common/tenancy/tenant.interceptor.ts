import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { isolationOf } from './isolation-of.js';
import { TenantScope } from './tenant-scope.js';

/**
 * Applies what the guard decided: makes the scope of the request, which every verb of a service takes first. A caller who
 * lacks a value that the action is isolated by is refused here, before anything is read.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    // Without a guard before it nobody has decided who calls.
    if (!request.tenantContext) throw new Error('The TenantGuard did not run before the TenantInterceptor.');
    const params = request.params as Readonly<Record<string, string>>;
    const scope = TenantScope.ofRequest(request.tenantContext, { params, request });
    scope.valuesOf(isolationOf(context));
    request.tenantScope = scope;
    return next.handle();
  }
}
