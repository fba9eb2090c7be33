import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Callers } from './callers.js';
import { decideCaller } from './decide-caller.js';
import { isolationOf } from './isolation-of.js';

/**
 * Decides whether a request may proceed: an isolated action needs a valid bearer token (RFC 6750). Stores the
 * caller in `request.tenantContext`.
 */
@Injectable()
export class TenantGuard implements CanActivate {
  /** @param callers identifies the sender of a request */
  constructor(readonly callers: Callers) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    await decideCaller(request, isolationOf(context), this.callers);
    return true;
  }
}
