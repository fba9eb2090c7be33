import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { TenantContext } from './tenant-context.js';
import type { TenantScope } from './tenant-scope.js';

/**
 * Injects the scope of the request into a handler; see {@link TenantScope}.
 *
 * @throws Error if there is none: a handler of a controller that is not isolated must not run as if it were
 */
export const CurrentScope = createParamDecorator((_data: unknown, context: ExecutionContext): TenantScope => {
  const { tenantScope } = context.switchToHttp().getRequest<FastifyRequest>();
  if (tenantScope) return tenantScope;
  throw new Error(
    `No scope was computed for ${context.getClass().name}. Use @CurrentScope() in CRUD controllers only.`,
  );
});

/** The caller of a request, for your own guards and decorators; they run after isolation. */
export function callerOf(context: ExecutionContext): TenantContext {
  const { tenantContext } = context.switchToHttp().getRequest<FastifyRequest>();
  if (tenantContext) return tenantContext;
  throw new Error(`Nobody has decided who calls ${context.getClass().name}.`);
}
