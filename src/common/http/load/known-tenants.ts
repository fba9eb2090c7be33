import type { FastifyRequest } from 'fastify';

/** Maximum number of tokens to remember; beyond that, the least recently used one is forgotten. */
const MAX_TOKENS = 10_000;
/** Of their headers in all, which one token can have in any number: spaces before it count for nothing. Unit: characters. */
const MAX_LENGTH = 16_777_216;

/**
 * The tenants of recently verified tokens, so that a request can be counted for its tenant before its token
 * is verified again. It does not grant access.
 */
export class KnownTenants {
  private readonly tenants = new Map<string, string>();
  private length = 0;

  /** The tenant of a request's token; undefined without a token, or if it was not verified recently. */
  of({ headers: { authorization } }: FastifyRequest): string | undefined {
    if (authorization === undefined) return undefined;
    const tenant = this.tenants.get(authorization);
    if (tenant === undefined) return undefined;
    this.tenants.delete(authorization);
    this.tenants.set(authorization, tenant);
    return tenant;
  }

  /** Remembers the caller that the guard has found; forgets a token that the guard has rejected. */
  learn({ headers: { authorization }, tenantContext }: FastifyRequest, status: number): void {
    if (authorization === undefined) return;
    if (status === 401) this.forget(authorization);
    else if (tenantContext?.tenant !== undefined) this.remember(authorization, tenantContext.tenant);
  }

  private remember(authorization: string, tenant: string): void {
    this.forget(authorization);
    this.tenants.set(authorization, tenant);
    this.length += authorization.length;
    for (const oldest of this.tenants.keys()) {
      if (this.tenants.size <= MAX_TOKENS && this.length <= MAX_LENGTH) return;
      this.forget(oldest);
    }
  }

  private forget(authorization: string): void {
    if (this.tenants.delete(authorization)) this.length -= authorization.length;
  }
}
