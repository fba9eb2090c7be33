import { createHash } from 'node:crypto';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import fastifyRateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  DeadlineExceededError,
  OverloadedError,
  sendProblem,
  TooManyRequestsError,
} from '../errors/index.js';
import { contextOf } from '../request/index.js';
import { FairShare, isTenant, ownerAt, type StreamLimits, StreamSlots } from '../http/index.js';

/** Limits of the load that a process accepts. */
export interface LoadOptions extends RateLimitOptions {
  /** Maximum number of requests to carry out at a time. */
  readonly maxRunningRequests: number;
  /** A request that would probably wait longer is rejected. Unit: milliseconds. */
  readonly maxWaitMs: number;
  /**
   * Average event loop delay over a second above which requests are rejected; 0 disables the check. Unit:
   * milliseconds.
   */
  readonly maxEventLoopDelayMs: number;
}

/** Maximum number of requests per minute; 0 means no limit. */
interface RateLimitOptions {
  readonly rateLimitTenant: number;
  readonly rateLimitAddress: number;
  /** Of one address, with invalid tokens. */
  readonly rateLimitBadTokens: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The long responses of this process. */
    streamSlots: StreamSlots;
  }
}

/** From the arrival of a request to the first byte of its response. Unit: milliseconds. */
const DEADLINE_MS = 4_800;

/**
 * How many requests begin in a turn of the event loop: a step of one that has begun takes as long as these, and not as
 * all that arrive.
 */
const BEGINNING = { maxInAll: 16 };

/**
 * Keeps a process usable under any load: requests beyond the limits of their client (429) or of the process (503) are
 * rejected before their body is read. The others take turns, fairly between tenants (addresses without a known tenant
 * together count as one), and are answered within five seconds. Call it after the hooks whose headers rejections should
 * also have.
 *
 * @returns the slots of requests, to observe their number
 */
export async function useLoadControl(
  fastify: FastifyInstance,
  options: LoadOptions,
  limits?: Partial<StreamLimits>,
): Promise<FairShare> {
  const tenants = new KnownTenants();
  const beginning = new FairShare(BEGINNING);
  const { maxRunningRequests: maxInAll, maxWaitMs } = options;
  const requests = new FairShare({ maxInAll, maxWaitMs, hasShares: true });
  const rates = await rateLimits(fastify, options);
  const ownerOf = ({ owner, ip }: FastifyRequest) => owner ?? ownerAt(ip);

  if (options.maxEventLoopDelayMs > 0) rejectWhileBlocked(fastify, options.maxEventLoopDelayMs);
  fastify.decorateRequest('load', null);
  fastify.decorate('streamSlots', new StreamSlots(limits, requests));
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (!isControlled(request)) return done();
    request.owner = ownerAt(request.ip, tenants.of(request));
    const slot = beginning.slotFor(request.owner);
    slot.take(() => {
      setImmediate(() => slot.leave());
      done();
    });
  });
  fastify.addHook('onRequest', async (request) => {
    if (!isControlled(request)) return;
    await rates.count(request);
    const rejection = requests.rejection(ownerOf(request));
    if (rejection) throw rejection;
  });
  fastify.addHook('preHandler', (request, reply, done) => {
    if (!isControlled(request) || request.routeOptions.config.underLoad === 'stream') return done();
    // A request whose route turns out not to exist, such as /todos/ with its empty id, passes here again as a
    // 404.
    if (request.load) return done();
    const deadline = setTimeout(giveUp, DEADLINE_MS, request, reply);
    contextOf(request).endsAt = performance.now() + DEADLINE_MS;
    const slot = requests.slotFor(ownerOf(request));
    request.load = { slot, deadline };
    slot.take(() => {
      // The client may have gone away by the time it is this request's turn.
      if (request.raw.socket.destroyed) leave(request);
      else done();
    });
  });
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    leave(request);
    done();
  });
  fastify.addHook('onResponse', async (request, { statusCode }) => {
    leave(request);
    tenants.learn(request, statusCode);
    const sentToken = request.headers.authorization !== undefined;
    if (sentToken && statusCode === 401) await rates.countBadToken(request);
  });
  return requests;
}

function isControlled({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.underLoad !== 'taken';
}

/** Ends the turn of a request. */
function leave(request: FastifyRequest): void {
  const { load } = request;
  if (!load) return;
  request.load = null;
  clearTimeout(load.deadline);
  load.slot.leave();
}

/** Answers in place of a handler that takes too long. Its own response is then ignored. */
function giveUp(request: FastifyRequest, reply: FastifyReply): void {
  leave(request);
  if (reply.sent || reply.raw.headersSent) return;
  sendProblem(new DeadlineExceededError(), request, reply);
  reply.send = (payload?: unknown) => {
    const { destroy } = (payload ?? {}) as { destroy?: () => void };
    if (typeof destroy === 'function') destroy.call(payload);
    return reply;
  };
}

const WINDOW_MS = 60_000;

/** Counts requests per minute, in the memory of this process. */
async function rateLimits(fastify: FastifyInstance, options: RateLimitOptions) {
  await fastify.register(fastifyRateLimit, { global: false, timeWindow: WINDOW_MS });
  const limiter = (max: number, keyGenerator?: (request: FastifyRequest) => string) =>
    max === 0 ? undefined : fastify.createRateLimit({ max, ...(keyGenerator && { keyGenerator }) });
  const perAddress = limiter(options.rateLimitAddress);
  const perTenant = limiter(options.rateLimitTenant, ({ owner }) => owner?.client ?? '');
  const badTokens = limiter(options.rateLimitBadTokens);
  const take = async (
    limit: typeof perAddress,
    request: FastifyRequest,
    of: 'address' | 'tenant',
  ): Promise<void> => {
    const result = await limit?.(request);
    if (result && !result.isAllowed && result.isExceeded)
      throw new TooManyRequestsError(of, result.ttlInSeconds);
  };
  return {
    /** @throws TooManyRequestsError */
    async count(request: FastifyRequest): Promise<void> {
      const isKnown = request.owner !== undefined && isTenant(request.owner);
      if (!isKnown && request.headers.authorization !== undefined) {
        const bad = await badTokens?.(request, { increment: false });
        if (bad && !bad.isAllowed && bad.remaining === 0)
          throw new TooManyRequestsError('badTokens', bad.ttlInSeconds);
      }
      await take(perAddress, request, 'address');
      if (isKnown) await take(perTenant, request, 'tenant');
    },
    /** Counts an invalid token. */
    async countBadToken(request: FastifyRequest): Promise<void> {
      await badTokens?.(request);
    },
  };
}

/** Maximum number of tokens to remember; beyond that, the least recently used one is forgotten. */
const MAX_TOKENS = 10_000;

/** The tenants of recently verified tokens, for which requests count before they are verified. It grants no access. */
export class KnownTenants {
  /** By a hash, since a header may be long. Unit of `expires`: milliseconds since the epoch. */
  private readonly tokens = new Map<string, { readonly tenant: string; readonly expires: number }>();

  /** The tenant of a request's token; undefined without a token, or if it was not verified recently. */
  of({ headers: { authorization } }: FastifyRequest): string | undefined {
    if (authorization === undefined) return undefined;
    const key = hashOf(authorization);
    const known = this.tokens.get(key);
    this.tokens.delete(key);
    if (!known || known.expires <= Date.now()) return undefined;
    this.tokens.set(key, known);
    return known.tenant;
  }

  /** Remembers the caller that the guard has found; forgets a token that the guard has rejected. */
  learn(request: FastifyRequest, status: number): void {
    const { authorization } = request.headers;
    const { tenant, claims } = contextOf(request).caller ?? {};
    if (authorization === undefined || (status !== 401 && tenant === undefined)) return;
    const key = hashOf(authorization);
    this.tokens.delete(key);
    // A verified token has `exp`; a caller that was identified in another way is not remembered.
    const expires = Number(claims?.exp) * 1_000;
    if (status === 401 || tenant === undefined || !(expires > Date.now())) return;
    this.tokens.set(key, { tenant, expires });
    const [oldest] = this.tokens.keys();
    if (oldest !== undefined && this.tokens.size > MAX_TOKENS) this.tokens.delete(oldest);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Time over which the delay is averaged. Unit: milliseconds. */
const SAMPLE_MS = 1_000;
/** How often the event loop is measured, which counts as part of its delay. Unit: milliseconds. */
const RESOLUTION_MS = 10;

/** Rejects requests while the average delay of the event loop over the last second is above the maximum. */
function rejectWhileBlocked(fastify: FastifyInstance, maxMs: number): void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let average = 0;
  const sample = () => {
    // Without one measurement in a second, it was blocked all the time.
    average = Number.isNaN(histogram.mean) ? Infinity : histogram.mean / 1e6 - RESOLUTION_MS;
    histogram.reset();
  };
  const timer = setInterval(sample, SAMPLE_MS).unref();
  histogram.enable();
  fastify.addHook('onClose', (_fastify, done) => {
    clearInterval(timer);
    histogram.disable();
    done();
  });
  fastify.addHook('onRequest', (request, _reply, done) => {
    done(average > maxMs && isControlled(request) ? new OverloadedError() : undefined);
  });
}
