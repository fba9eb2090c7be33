import type { FastifyRequest } from 'fastify';

/** Maximum number of tokens to remember; beyond that, the least recently used one is forgotten. */
const MAX_TOKENS = 10_000;
/** Of their headers in all, which one token can have in any number: spaces before it count for nothing. Unit: characters. */
const MAX_LENGTH = 16_777_216;

/** What is known of a token. */
interface Known {
  readonly tenant: string;
  /** Unit: milliseconds since the epoch. */
  readonly expires: number;
}

/**
 * The tenants of recently verified tokens, so that a request can be counted for its tenant before its token
 * is verified again, as long as the token lasts. It does not grant access.
 */
export class KnownTenants {
  private readonly tokens = new Map<string, Known>();
  private length = 0;

  /** The tenant of a request's token; undefined without a token, or if it was not verified recently. */
  of({ headers: { authorization } }: FastifyRequest): string | undefined {
    if (authorization === undefined) return undefined;
    const known = this.tokens.get(authorization);
    if (!known) return undefined;
    if (known.expires <= Date.now()) {
      this.forget(authorization);
      return undefined;
    }
    this.tokens.delete(authorization);
    this.tokens.set(authorization, known);
    return known.tenant;
  }

  /** Remembers the caller that the guard has found; forgets a token that the guard has rejected. */
  learn({ headers: { authorization }, tenantContext }: FastifyRequest, status: number): void {
    if (authorization === undefined) return;
    if (status === 401) {
      this.forget(authorization);
      return;
    }
    const { tenant, claims } = tenantContext ?? {};
    if (tenant === undefined) return;
    // A verified token has `exp`; a caller that was identified in another way is not remembered.
    this.remember(authorization, { tenant, expires: Number(claims?.exp) * 1_000 });
  }

  private remember(authorization: string, known: Known): void {
    this.forget(authorization);
    if (!(known.expires > Date.now())) return;
    this.tokens.set(authorization, known);
    this.length += authorization.length;
    for (const oldest of this.tokens.keys()) {
      if (this.tokens.size <= MAX_TOKENS && this.length <= MAX_LENGTH) return;
      this.forget(oldest);
    }
  }

  private forget(authorization: string): void {
    if (this.tokens.delete(authorization)) this.length -= authorization.length;
  }
}
