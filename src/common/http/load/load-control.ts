import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  DeadlineExceededError,
  OverloadedError,
  sendProblem,
  TooManyRequestsError,
} from '../../errors/index.js';
import { type HttpRequest, type HttpResponse, rawOf } from '../../platform/index.js';
import { FairQueue, type FairQueueOptions, type Place, type QueueRefusal } from './fair-queue.js';
import { slotOwner, slotOwnerOf, KnownTenants, type RateLimitOptions, RateLimits } from './client-limits.js';

/** Limits of the load that a process accepts. */
export interface LoadOptions extends FairQueueOptions, RateLimitOptions {
  /**
   * Average event loop delay over a second above which requests are rejected; 0 disables the check. Unit:
   * milliseconds.
   */
  readonly maxEventLoopDelayMs: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by {@link UnderLoad}. */
    underLoad?: 'taken' | 'stream';
  }
  interface FastifyInstance {
    carryOutInTurn: CarryOutInTurn;
  }
}

declare module '../../platform/index.js' {
  interface Platform {
    /** Carries out the items of a batch in the places of its client. */
    readonly carryOutInTurn: CarryOutInTurn;
  }
  interface RequestState {
    /** The place of the request among the running ones; null before and after, and where load is not limited. */
    load?: { place: Place; deadline: NodeJS.Timeout } | null;
  }
}

/**
 * How requests to a route are treated under load. `taken`: always accepted, such as probes. `stream`:
 * rejected like others, but without taking turns and without a deadline.
 */
export const UnderLoad = (underLoad: 'taken' | 'stream'): MethodDecorator => RouteConfig({ underLoad });

/**
 * Carries out the items of a batch, which begin in their order. The batch waits for one place, as a request of its client
 * does, unless it still has that of its own request. While its client's share has more places, items are carried out
 * in them at the same time. All of them are given back at the end.
 *
 * @returns the results, in the order of the items
 * @throws OverloadedError if the client goes away before its turn
 */
export type CarryOutInTurn = <Item, Result>(
  batch: BatchRequest,
  items: readonly Item[],
  carryOut: (item: Item) => Result | Promise<Result>,
) => Promise<Result[]>;

/** A request with many items, and its answer. */
export interface BatchRequest {
  readonly request: HttpRequest;
  readonly reply: HttpResponse;
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

/**
 * Gives up the place of a request while it waits for something else, so that it does not block others.
 *
 * @returns a function that waits for a new place; it never resolves if the request has been given up
 */
export function stepAside(request: HttpRequest): () => Promise<void> {
  const { load } = request;
  load?.place.leave();
  return () =>
    new Promise((resolve) => {
      if (!load) resolve();
      else if (request.load === load) takeTurn(request, load.place, resolve);
    });
}

function takeTurn(request: HttpRequest, place: Place, start: () => void): void {
  place.take(() => {
    // The client may have gone away by the time it is this request's turn.
    if (rawOf(request).socket.destroyed) leave(request);
    else start();
  });
}

/**
 * Carries out items, which begin in their order, in a place and as many others as there are.
 *
 * @param next takes another place; undefined if there is none
 * @returns the results, in the order of the items
 */
export async function carryOutTogether<Item, Result>(
  items: readonly Item[],
  carryOut: (item: Item) => Result | Promise<Result>,
  first: Pick<Place, 'leave'> | undefined,
  next: () => Pick<Place, 'leave'> | undefined,
): Promise<Result[]> {
  const rest = items.entries();
  const results: Result[] = [];
  const work = async (place?: Pick<Place, 'leave'>) => {
    try {
      for (const [i, item] of rest) results[i] = await carryOut(item);
    } finally {
      place?.leave();
    }
  };
  const works = [work(first)];
  while (works.length < items.length) {
    const place = next();
    if (!place) break;
    works.push(work(place));
  }
  await Promise.all(works);
  return results;
}

/** Takes a place when it is its turn. */
function turnOf(place: Place, raw: ServerResponse): Promise<Place> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      place.leave();
      reject(new OverloadedError());
    };
    if (raw.destroyed) return giveUp();
    raw.once('close', giveUp);
    place.take(() => {
      raw.off('close', giveUp);
      resolve(place);
    });
  });
}

function isControlled({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.underLoad !== 'taken';
}

function errorOf(refusal: QueueRefusal): Error {
  return refusal === 'overloaded' ? new OverloadedError() : new TooManyRequestsError('share', 1);
}

function leave(request: HttpRequest): void {
  const { load } = request;
  if (!load) return;
  request.load = null;
  clearTimeout(load.deadline);
  load.place.leave();
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
