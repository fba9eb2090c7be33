import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { applyScope } from './decide-caller.js';
import { isolationOf } from './isolation-of.js';

/**
 * Applies what the guard decided: makes the scope of the request, which every verb of a service takes first. A caller who
 * lacks a value that the action is isolated by is refused here, before anything is read.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    applyScope(request, isolationOf(context));
    return next.handle();
  }
}
