import fastifyRateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TooManyRequestsError } from '../../errors/index.js';

/** Maximum number of requests per minute; 0 means no limit. */
export interface RateLimitOptions {
  readonly rateLimitTenant: number;
  readonly rateLimitAddress: number;
  /** Of one address, with invalid tokens. */
  readonly rateLimitBadTokens: number;
}

const WINDOW_MS = 60_000;

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;

/** Counts requests per minute, in the memory of this process. */
export class RateLimits {
  private readonly perAddress?: Limiter;
  private readonly perTenant?: Limiter;
  private readonly badTokens?: Limiter;

  private constructor(fastify: FastifyInstance, options: RateLimitOptions, tenantOf: TenantOf) {
    const limit = (max: number, keyGenerator?: (request: FastifyRequest) => string) =>
      max === 0 ? undefined : fastify.createRateLimit({ max, ...(keyGenerator && { keyGenerator }) });
    this.perAddress = limit(options.rateLimitAddress);
    this.perTenant = limit(options.rateLimitTenant, (request) => tenantOf(request) ?? '');
    this.badTokens = limit(options.rateLimitBadTokens);
  }

  /** @param tenantOf returns the tenant that a request is counted for, if it is known */
  static async create(
    fastify: FastifyInstance,
    options: RateLimitOptions,
    tenantOf: TenantOf,
  ): Promise<RateLimits> {
    await fastify.register(fastifyRateLimit, { global: false, timeWindow: WINDOW_MS });
    return new RateLimits(fastify, options, tenantOf);
  }

  /**
   * Counts a request.
   *
   * @param tenant to count the request for, if known
   * @throws TooManyRequestsError
   */
  async count(request: FastifyRequest, tenant: string | undefined): Promise<void> {
    if (this.badTokens && tenant === undefined && request.headers.authorization !== undefined) {
      const { remaining, ttlInSeconds } = await read(this.badTokens, request);
      if (remaining === 0) throw new TooManyRequestsError('badTokens', ttlInSeconds);
    }
    if (this.perAddress) await take(this.perAddress, request, 'address');
    if (this.perTenant && tenant !== undefined) await take(this.perTenant, request, 'tenant');
  }

  /** Counts an invalid token. */
  async countBadToken(request: FastifyRequest): Promise<void> {
    await this.badTokens?.(request);
  }
}

type TenantOf = (request: FastifyRequest) => string | undefined;

async function take(limiter: Limiter, request: FastifyRequest, of: 'address' | 'tenant'): Promise<void> {
  const result = await limiter(request);
  if (!result.isAllowed && result.isExceeded) throw new TooManyRequestsError(of, result.ttlInSeconds);
}

async function read(limiter: Limiter, request: FastifyRequest) {
  const result = await limiter(request, { increment: false });
  return result.isAllowed ? { remaining: 1, ttlInSeconds: 0 } : result;
}

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
