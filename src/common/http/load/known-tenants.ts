import type { FastifyRequest } from 'fastify';

/** Tokens that are remembered; of more, the one that was used longest ago is forgotten. */
const MAX_TOKENS = 10_000;

/**
 * Whose tokens were verified lately, so that a request can be counted for its tenant before its token is verified again. It
 * grants nothing.
 */
export class KnownTenants {
  private readonly tenants = new Map<string, string>();

  /** The tenant of a request's token; undefined without a token, or with one that was not verified lately. */
  of({ headers: { authorization } }: FastifyRequest): string | undefined {
    if (authorization === undefined) return undefined;
    const tenant = this.tenants.get(authorization);
    if (tenant === undefined) return undefined;
    this.tenants.delete(authorization);
    this.tenants.set(authorization, tenant);
    return tenant;
  }

  /** Remembers whom the guard has found; forgets a token that it has refused. */
  learn({ headers: { authorization }, tenantContext }: FastifyRequest, status: number): void {
    if (authorization === undefined) return;
    if (status === 401) this.tenants.delete(authorization);
    else if (tenantContext?.tenant !== undefined) this.remember(authorization, tenantContext.tenant);
  }

  private remember(authorization: string, tenant: string): void {
    this.tenants.set(authorization, tenant);
    if (this.tenants.size <= MAX_TOKENS) return;
    const [oldest] = this.tenants.keys();
    if (oldest !== undefined) this.tenants.delete(oldest);
  }
}
