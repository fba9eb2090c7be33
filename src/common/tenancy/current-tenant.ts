import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Types } from 'mongoose';
import { type TenantContext, type TenantScope, UNSCOPED } from './tenant-context.js';

/** An {@link IsolationSource}: the tenant of the authenticated session, as the store keeps it. */
export function currentTenant(caller: TenantContext): Types.ObjectId | undefined {
  return caller.tenant === undefined ? undefined : new Types.ObjectId(caller.tenant);
}

/** Reads the tenant of the authenticated session; undefined on public actions. */
export const CurrentTenant = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string | undefined =>
    context.switchToHttp().getRequest<FastifyRequest>().tenantContext?.tenant,
);

/** Reads what the caller may touch; see {@link TenantScope}. */
export const CurrentScope = createParamDecorator(
  (_data: unknown, context: ExecutionContext): TenantScope =>
    context.switchToHttp().getRequest<FastifyRequest>().tenantScope ?? UNSCOPED,
);
