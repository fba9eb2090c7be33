import type { FastifyInstance } from 'fastify';
import { Counter, Gauge, Histogram } from 'prom-client';
import { DURATION_BUCKETS, type Metrics } from '../metrics/index.js';
import { whenClosed } from '../platform/index.js';

/** How many requests take turns now. */
export interface Turns {
  readonly running: number;
  readonly waiting: number;
}

/** Codes of requests that are rejected or given up because of load, time, or a dependency of the service. */
const REFUSALS = [
  'AUTHENTICATION_UNAVAILABLE',
  'DATABASE_UNAVAILABLE',
  'INDEX_UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'OVERLOADED',
  'QUERY_TOO_SLOW',
  'SHUTTING_DOWN',
  'TOO_MANY_REQUESTS',
  'TOO_MANY_STREAMS',
] as const;

/** Limits of a client, all of which answer `TOO_MANY_REQUESTS`. */
const LIMITS = ['address', 'badTokens', 'keys', 'share', 'tenant'] as const;

/** Methods that are shown for requests without a route. Others are not, since clients can send any text. */
const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/** Shown in place of the route if there is none, since clients can send any path. */
const NO_ROUTE = 'none';

/**
 * Counts the requests of a server: durations by route and status, requests in flight, and rejections by code.
 * Call it before routes are added. No label contains a path, a tenant or anything else that clients choose.
 */
export function useRequestMetrics(fastify: FastifyInstance, { registry }: Metrics, turns: Turns): void {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer, by the template of its route.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const refused = refusalCounter({ registry });
  const inFlight = countInFlight(fastify);
  fastify.addHook('onResponse', (request, reply, done) => {
    const { problem } = request;
    const status = reply.statusCode;
    if (problem && (status === 429 || status === 503)) refused(problem.code, problem.limit);
    const { is404, method, routeOptions } = request;
    const shown = is404 && !METHODS.has(method) ? 'other' : method;
    const route = (is404 ? undefined : routeOptions.url) ?? NO_ROUTE;
    durations.observe({ method: shown, route, status }, reply.elapsedTime / 1_000);
    done();
  });
  const aborted = new Counter({
    name: 'http_requests_aborted_total',
    help: 'Requests whose client went away before their answer was whole.',
    registers: [registry],
  });
  fastify.addHook('onRequestAbort', (_request, done) => {
    aborted.inc();
    done();
  });
  const gauges = {
    http_requests_in_flight: ['Requests whose answer is not whole, streams among them.', inFlight],
    http_requests_running: ['Requests that have their turn.', () => turns.running],
    http_requests_waiting: ['Requests that wait for their turn.', () => turns.waiting],
  } as const;
  for (const [name, [help, read]] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }
}

/** Starts at zero, so that the first rejection is an increase. */
function refusalCounter({ registry }: Pick<Metrics, 'registry'>) {
  const counter = new Counter({
    name: 'http_requests_refused_total',
    help: 'Requests that were answered with 429 or 503, by the code of the problem and the limit that was reached.',
    labelNames: ['code', 'limit'],
    registers: [registry],
  });
  const childOf = (code: string, limit = '') => {
    counter.inc({ code, limit }, 0);
    return counter.labels({ code, limit });
  };
  const byLimit = new Map<string, Counter.Internal>(
    LIMITS.map((limit) => [limit, childOf('TOO_MANY_REQUESTS', limit)]),
  );
  const byCode = new Map<string, Counter.Internal>(
    REFUSALS.filter((code) => code !== 'TOO_MANY_REQUESTS').map((code) => [code, childOf(code)]),
  );
  // Your own code may throw a 429 or 503 with any code.
  const others = childOf('other');
  return (code: string, limit: string | undefined) => {
    const child = limit === undefined ? byCode.get(code) : byLimit.get(limit);
    (child ?? others).inc();
  };
}

/** Counts requests until their connection is done with them, however they end. */
function countInFlight(fastify: FastifyInstance): () => number {
  let count = 0;
  const close = () => void (count -= 1);
  fastify.addHook('onRequest', (_request, reply, done) => {
    count += 1;
    whenClosed(reply.raw, close);
    done();
  });
  return () => count;
}
