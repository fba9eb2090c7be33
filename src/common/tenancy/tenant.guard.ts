import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { TokenVerifier } from './token-verifier.js';

/** Decides whether a request may go on: only with a bearer token (RFC 6750) that verifies and names a tenant. */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(private readonly verifier: TokenVerifier) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.tenantContext = await this.verifier.authenticate(bearerToken(request.headers.authorization));
    return true;
  }
}

function bearerToken(header: string | undefined): string {
  if (header === undefined || !/^bearer(\s|$)/i.test(header)) throw new UnauthenticatedError();
  const match = /^bearer +([\w\-.~+/]+=*)$/i.exec(header);
  if (!match?.[1]) throw new InvalidTokenError();
  return match[1];
}
