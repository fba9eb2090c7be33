import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { HttpRequest } from '../platform/index.js';
import { type IsolationFields, isolationOf } from './isolation-source.js';
import { TenantScope } from './tenant-scope.js';

/**
 * Makes the scope of a request whose caller has been decided.
 *
 * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks a value of one of the fields
 */
export function applyScope(request: HttpRequest, fields: IsolationFields): TenantScope {
  // Without the guard, nobody has decided who is calling.
  if (!request.tenantContext) throw new Error('The TenantGuard did not run before the TenantInterceptor.');
  const params = request.params as Readonly<Record<string, string>>;
  const scope = TenantScope.ofRequest(request.tenantContext, { params, request });
  scope.valuesOf(fields);
  request.tenantScope = scope;
  return scope;
}

/**
 * Applies the guard's decision: makes the scope of the request, the first argument of every verb of a
 * service. A caller who lacks an isolation value of the action is rejected here, before anything is read.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    applyScope(request, isolationOf(context));
    return next.handle();
  }
}
