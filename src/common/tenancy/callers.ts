import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { bearerTokenOf } from './bearer-token.js';
import type { TenantContext } from './tenant-context.js';
import { TokenVerifier } from './token-verifier.js';

/** The senders of requests, identified by their bearer tokens (RFC 6750). */
@Injectable()
export class Callers {
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly verifier: TokenVerifier) {}

  /**
   * The caller of a request. Carried requests share the token of their carrier, which is verified once.
   *
   * @throws UnauthenticatedError, InvalidTokenError without a valid token
   */
  async of({ raw, headers }: FastifyRequest): Promise<TenantContext> {
    const token = bearerTokenOf({ headers });
    const caller = this.callers.get(raw) ?? this.verifier.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }
}
