import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  DeadlineExceededError,
  OverloadedError,
  sendProblem,
  TooManyRequestsError,
} from '../errors/index.js';
import { rawOf } from '../platform/index.js';
import {
  type CarryOutInTurn,
  carryOutTogether,
  FairQueue,
  type FairQueueOptions,
  KnownTenants,
  leave,
  type QueueRefusal,
  type RateLimitOptions,
  RateLimits,
  slotOwner,
  slotOwnerOf,
  takeTurn,
  turnOf,
} from '../http/index.js';

/** Limits of the load that a process accepts. */
export interface LoadOptions extends FairQueueOptions, RateLimitOptions {
  /**
   * Average event loop delay over a second above which requests are rejected; 0 disables the check. Unit:
   * milliseconds.
   */
  readonly maxEventLoopDelayMs: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    carryOutInTurn: CarryOutInTurn;
  }
}

/**
 * From the arrival of a request to the first byte of its answer, with time for that byte to arrive. Unit:
 * milliseconds.
 */
const DEADLINE_MS = 4_800;

/**
 * How many requests begin in a turn of the event loop: a step of one that has begun takes as long as these, and not as
 * all that arrive.
 */
const BEGINNING = { maxRunningRequests: 16, maxWaitMs: Infinity };

/**
 * Keeps a process usable under any load. Requests beyond the limits of their client (429) or of the process
 * (503) are rejected before their body is read. The others take turns, fairly between tenants, and addresses
 * without a known tenant together have the turns of one tenant; they are answered within five seconds. Call it after the hooks whose
 * headers rejections should also have.
 *
 * @returns the queue, to observe its length
 */
export async function useLoadControl(
  fastify: FastifyInstance,
  options: LoadOptions,
): Promise<Pick<FairQueue, 'running' | 'waiting'>> {
  const tenants = new KnownTenants();
  const beginning = new FairQueue(BEGINNING, false);
  const queue = new FairQueue(options);
  const rates = await RateLimits.create(fastify, options, (request) => tenants.of(request));
  const ownerOf = (request: FastifyRequest) => slotOwner(request.ip, tenants.of(request));

  if (options.maxEventLoopDelayMs > 0) refuseWhileBlocked(fastify, options.maxEventLoopDelayMs);
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (!isControlled(request)) return done();
    const place = beginning.placeFor(ownerOf(request));
    place.take(() => {
      setImmediate(place.leave);
      done();
    });
  });
  fastify.decorateRequest('load', null);
  fastify.decorate('carryOutInTurn', async ({ request, reply }, items, carryOut) => {
    const owner = request.tenantContext
      ? slotOwnerOf(request)
      : slotOwner(request.ip ?? '', tenants.of(request as FastifyRequest));
    const first = request.load ? undefined : await turnOf(queue.placeFor(owner), rawOf(reply));
    return carryOutTogether(items, carryOut, first, () => queue.placeBeside(owner));
  });
  fastify.addHook('onRequest', async (request) => {
    if (!isControlled(request)) return;
    await rates.count(request, tenants.of(request));
    const refusal = queue.refusal(ownerOf(request));
    if (refusal) throw errorOf(refusal);
  });
  fastify.addHook('preHandler', (request, reply, done) => {
    if (!isControlled(request) || request.routeOptions.config.underLoad === 'stream') return done();
    // A request whose route turns out not to exist, such as /todos/ with its empty id, passes here again as a
    // 404.
    if (request.load) return done();
    const deadline = setTimeout(giveUp, DEADLINE_MS, request, reply);
    const place = queue.placeFor(ownerOf(request));
    request.load = { place, deadline };
    takeTurn(request, place, done);
  });
  fastify.addHook('onSend', (request, _reply, _payload, done) => {
    leave(request);
    done();
  });
  fastify.addHook('onResponse', async (request, reply) => {
    leave(request);
    tenants.learn(request, reply.statusCode);
    const sentToken = request.headers.authorization !== undefined;
    if (sentToken && reply.statusCode === 401) await rates.countBadToken(request);
  });
  return queue;
}

/** Refuses requests while the average delay of the event loop is above the maximum. */
function refuseWhileBlocked(fastify: FastifyInstance, maxMs: number): void {
  const delay = new EventLoopDelay();
  fastify.addHook('onClose', () => Promise.resolve(delay.stop()));
  fastify.addHook('onRequest', (request, _reply, done) => {
    done(delay.ms > maxMs && isControlled(request) ? new OverloadedError() : undefined);
  });
}

function isControlled({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.underLoad !== 'taken';
}

function errorOf(refusal: QueueRefusal): Error {
  return refusal === 'overloaded' ? new OverloadedError() : new TooManyRequestsError('share', 1);
}

/** Answers in place of a handler that takes too long. Its own answer is then ignored. */
function giveUp(request: FastifyRequest, reply: FastifyReply): void {
  leave(request);
  if (reply.sent || reply.raw.headersSent) return;
  sendProblem(new DeadlineExceededError(), request, reply, request.log);
  reply.send = (payload?: unknown) => {
    const { destroy } = (payload ?? {}) as { destroy?: () => void };
    if (typeof destroy === 'function') destroy.call(payload);
    return reply;
  };
}

/** Time over which the delay is averaged. Unit: milliseconds. */
const SAMPLE_MS = 1_000;
/** How often the event loop is measured, which counts as part of its delay. Unit: milliseconds. */
const RESOLUTION_MS = 10;

/** The average delay of the event loop over the last second. */
class EventLoopDelay {
  private readonly histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private readonly timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
  private average = 0;

  constructor() {
    this.histogram.enable();
  }

  /** Unit: milliseconds. */
  get ms(): number {
    return this.average;
  }

  stop(): void {
    clearInterval(this.timer);
    this.histogram.disable();
  }

  private sample(): void {
    const { mean } = this.histogram;
    // Without one measurement in a second, it was blocked all the time.
    this.average = Number.isNaN(mean) ? Infinity : Math.max(0, mean / 1e6 - RESOLUTION_MS);
    this.histogram.reset();
  }
}
