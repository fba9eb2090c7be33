import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { applyScope } from './decide-caller.js';
import { isolationOf } from './isolation-of.js';

/**
 * Applies the guard's decision: makes the scope of the request, the first argument of every verb of a
 * service. A caller who lacks an isolation value of the action is rejected here, before anything is read.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    applyScope(request, isolationOf(context));
    return next.handle();
  }
}
