import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { isolationOf } from './isolation-of.js';
import { needsToken } from './isolation-source.js';
import { ANONYMOUS, type TenantContext } from './tenant-context.js';
import { TokenVerifier } from './token-verifier.js';

/**
 * Decides whether a request may go on: an isolated action only with a bearer token (RFC 6750) that verifies. Who calls is
 * then in `request.tenantContext`.
 */
@Injectable()
export class TenantGuard implements CanActivate {
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly verifier: TokenVerifier) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.tenantContext = needsToken(isolationOf(context)) ? await this.callerOf(request) : ANONYMOUS;
    return true;
  }

  /** Requests that another one carries have its token, which is verified once. */
  private callerOf({ raw, headers }: FastifyRequest): Promise<TenantContext> {
    const token = bearerToken(headers.authorization);
    const caller = this.callers.get(raw) ?? this.verifier.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }
}

function bearerToken(header: string | undefined): string {
  if (header === undefined || !/^bearer(\s|$)/i.test(header)) throw new UnauthenticatedError();
  const match = /^bearer +([\w\-.~+/]+=*)$/i.exec(header);
  if (!match?.[1]) throw new InvalidTokenError();
  return match[1];
}
