import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Callers } from './callers.js';
import { decideCaller } from './decide-caller.js';
import { isolationOf } from './isolation-of.js';

/**
 * Decides whether a request may go on: an isolated action only with a bearer token (RFC 6750) that verifies. Who calls is
 * then in `request.tenantContext`.
 */
@Injectable()
export class TenantGuard implements CanActivate {
  /** @param callers whom it asks */
  constructor(readonly callers: Callers) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    await decideCaller(request, isolationOf(context), this.callers);
    return true;
  }
}
