import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { bearerTokenOf } from './bearer-token.js';
import type { TenantContext } from './tenant-context.js';
import { TokenVerifier } from './token-verifier.js';

/** Who sends the requests, by their bearer tokens (RFC 6750). */
@Injectable()
export class Callers {
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly verifier: TokenVerifier) {}

  /**
   * The caller of a request. Requests that another one carries have its token, which is verified once.
   *
   * @throws UnauthenticatedError, InvalidTokenError without a token that verifies
   */
  async of({ raw, headers }: FastifyRequest): Promise<TenantContext> {
    const token = bearerTokenOf({ headers });
    const caller = this.callers.get(raw) ?? this.verifier.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }
}
