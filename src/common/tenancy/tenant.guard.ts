import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { HttpRequest } from '../platform/index.js';
import { Callers } from './callers.js';
import { isolationOf, needsToken } from './isolation-source.js';
import { ANONYMOUS } from './tenant-scope.js';

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
