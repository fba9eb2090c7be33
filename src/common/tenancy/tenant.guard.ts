import {
  applyDecorators,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type CallHandler,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { HttpRequest } from '../platform/index.js';
import {
  CARRIED_ISOLATION,
  type CarriedIsolationResolver,
  ISOLATION,
  type IsolationResolver,
  isolationOf,
  needsToken,
  type IsolationFields,
} from './isolation-source.js';
import { Callers } from './callers.js';
import { ANONYMOUS, TenantScope } from './tenant-scope.js';

/**
 * Decides whether a request may proceed: an isolated action needs a valid bearer token (RFC 6750). Stores the
 * caller in `request.tenantContext`.
 */
@Injectable()
export class TenantGuard implements CanActivate {
  /** @param callers identifies the sender of a request */
  constructor(private readonly callers: Callers) {}

  /** @throws UnauthenticatedError, InvalidTokenError if the action needs a token, and there is no valid one */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    request.tenantContext = needsToken(isolationOf(context)) ? await this.callers.of(request) : ANONYMOUS;
    return true;
  }
}

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

/**
 * Scopes every handler of a controller, including those of its subclasses. Applied to the class, so that no
 * decorator on a method can remove it: guards and interceptors of methods are added to those of their class.
 *
 * @param carried scopes the requests that a handler carries, if any
 */
export function Isolated(resolver: IsolationResolver, carried?: CarriedIsolationResolver): ClassDecorator {
  return applyDecorators(IsolatedBy(resolver, carried), UseInterceptors(TenantInterceptor));
}

/** The same for a controller whose own interceptor makes the scopes. */
export function IsolatedBy(
  resolver: IsolationResolver,
  carried: CarriedIsolationResolver = () => [],
): ClassDecorator {
  return applyDecorators(
    SetMetadata(ISOLATION, resolver),
    SetMetadata(CARRIED_ISOLATION, carried),
    UseGuards(TenantGuard),
  );
}
