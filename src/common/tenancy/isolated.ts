import { applyDecorators, SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common';
import {
  CARRIED_ISOLATION,
  type CarriedIsolationResolver,
  ISOLATION,
  type IsolationResolver,
} from './isolation-source.js';
import { TenantGuard } from './tenant.guard.js';
import { TenantInterceptor } from './tenant.interceptor.js';

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
