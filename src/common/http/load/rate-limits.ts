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
