import { hash } from 'node:crypto';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import fastifyRateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, OverloadedError, sendProblem, TooManyRequestsError } from '../errors/index.js';
import { contextOf } from '../request/index.js';
import {
  FairShare,
  isTenant,
  type Owner,
  ownerAt,
  ownerOf,
  type StreamLimits,
  StreamSlots,
} from '../http/index.js';
import { isStream } from './responses.js';

/** Limits of the load that a process accepts. */
export const LOAD_LIMITS = {
  /** Maximum number of requests to carry out at a time. @default 128 */
  maxRunningRequests: 128,
  /** A request that would probably wait longer is rejected. Unit: milliseconds. @default 750 */
  maxWaitMs: 750,
  /** Average event loop delay over a second above which requests are rejected; 0: any. Unit: milliseconds. @default 2000 */
  maxEventLoopDelayMs: 2_000,
  /** Requests of a tenant per minute; 0: any number. @default 600000 */
  rateLimitTenant: 600_000,
  /** Requests of an address per minute; 0: any number. @default 600000 */
  rateLimitAddress: 600_000,
  /** Invalid tokens of an address per minute; 0: any number. @default 600 */
  rateLimitBadTokens: 600,
};
type LoadOptions = Readonly<typeof LOAD_LIMITS>;

declare module 'fastify' {
  interface FastifyInstance {
    /** The long responses of this process. */
    streamSlots: StreamSlots;
  }
}

/** From the arrival of a request to the first byte of its response. Unit: milliseconds. */
const DEADLINE_MS = 4_800;

/** How many requests begin in a turn of the event loop, so that those which have begun go on in between. */
const BEGINNING = { maxInAll: 16 };

/**
 * Keeps a process usable under any load: requests beyond the limits of their client (429) or of the process (503) are
 * rejected before their body is read. The others take turns, and are answered within five seconds. Call it after the hooks
 * whose headers rejections should also have.
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

  const delay = options.maxEventLoopDelayMs > 0 ? delayOfEventLoop(fastify) : () => 0;
  fastify.decorateRequest('load', null);
  fastify.decorate('streamSlots', new StreamSlots(limits, requests));
  fastify.addHook('onRequest', async (request) => {
    if (!isControlled(request)) return;
    if (delay() > options.maxEventLoopDelayMs) throw new OverloadedError();
    const owner = (request.crudOwner = ownerAt(request.ip, tenants.of(request)));
    const slot = beginning.slotFor(owner);
    await new Promise<void>((begin) => slot.take(begin));
    setImmediate(() => slot.leave());
    await rates.count(request, owner);
    const rejection = requests.rejection(owner);
    if (rejection) throw rejection;
  });
  fastify.addHook('preHandler', (request, reply, done) => {
    if (!isControlled(request) || request.routeOptions.config.underLoad === 'stream') return done();
    // A request whose route turns out not to exist, such as /todos/ with its empty id, passes here again.
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
  sendProblem(new DomainError('DEADLINE_EXCEEDED'), request, reply);
  reply.send = (payload?: unknown) => {
    if (isStream(payload)) payload.destroy();
    return reply;
  };
}

const WINDOW_MS = 60_000;

/** Counts requests per minute, in the memory of this process. */
async function rateLimits(fastify: FastifyInstance, options: LoadOptions) {
  await fastify.register(fastifyRateLimit, { global: false, timeWindow: WINDOW_MS });
  const limiter = (max: number, keyGenerator = ({ ip }: FastifyRequest) => ownerAt(ip).client) =>
    max === 0 ? undefined : fastify.createRateLimit({ max, keyGenerator });
  const perAddress = limiter(options.rateLimitAddress);
  const perTenant = limiter(options.rateLimitTenant, ({ crudOwner }) => crudOwner?.client ?? '');
  const badTokens = limiter(options.rateLimitBadTokens);
  return {
    /** @throws TooManyRequestsError */
    async count(request: FastifyRequest, owner: Owner): Promise<void> {
      const hasUnknownToken = !isTenant(owner) && request.headers.authorization !== undefined;
      const bad = hasUnknownToken && (await badTokens?.(request, { increment: false }));
      if (bad && !bad.isAllowed && bad.remaining === 0)
        throw new TooManyRequestsError('badTokens', bad.ttlInSeconds);
      const limits = { address: perAddress, ...(isTenant(owner) && { tenant: perTenant }) };
      for (const limit of ['address', 'tenant'] as const) {
        const result = await limits[limit]?.(request);
        if (result && !result.isAllowed && result.isExceeded)
          throw new TooManyRequestsError(limit, result.ttlInSeconds);
      }
    },
    countBadToken: async (request: FastifyRequest) => void (await badTokens?.(request)),
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
    const key = hash('sha256', authorization, 'base64');
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
    const key = hash('sha256', authorization, 'base64');
    this.tokens.delete(key);
    // A verified token has `exp`; a caller that was identified in another way is not remembered.
    const expires = Number(claims?.exp) * 1_000;
    if (status === 401 || tenant === undefined || !(expires > Date.now())) return;
    this.tokens.set(key, { tenant, expires });
    const [oldest] = this.tokens.keys();
    if (oldest !== undefined && this.tokens.size > MAX_TOKENS) this.tokens.delete(oldest);
  }
}

/** Time over which the delay is averaged. Unit: milliseconds. */
const SAMPLE_MS = 1_000;
/** How often the event loop is measured, which counts as part of its delay. Unit: milliseconds. */
const RESOLUTION_MS = 10;

/** Measures the event loop. @returns its average delay over the last second. Unit: milliseconds */
function delayOfEventLoop(fastify: FastifyInstance): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let average = 0;
  const sample = () => {
    // Without one measurement in a second, it was blocked all the time.
    average = Number.isNaN(histogram.mean) ? Infinity : histogram.mean / 1e6 - RESOLUTION_MS;
    histogram.reset();
  };
  const timer = setInterval(sample, SAMPLE_MS).unref();
  histogram.enable();
  fastify.addHook('onClose', async () => {
    clearInterval(timer);
    histogram.disable();
  });
  return () => average;
}
