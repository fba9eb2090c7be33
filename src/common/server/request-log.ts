import { type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import { Counter, Histogram } from 'prom-client';
import { ERROR_TABLE, errorMessages, OverloadedError, pathOf } from '../errors/index.js';
import type { FairShare } from '../http/index.js';
import { addGauge, DURATION_BUCKETS, type Metrics } from '../metrics/index.js';
import { contextOf, whenClosed } from '../request/index.js';

/** Whether a request was rejected or given up because of load, time, or a dependency of the service. */
const isRejection = (status: number) => status === 429 || status === 503;

/** The service's own codes of them. Your own code may throw others, which are counted as `other`. */
const REJECTIONS = Object.entries(ERROR_TABLE).flatMap(([code, { status }]) =>
  isRejection(status) ? [code] : [],
);

/**
 * Logs and counts the requests of a server, without queries and headers, which may be secret. No label of a metric contains
 * anything that clients choose. Call it before routes are added.
 */
export function useRequestLog(fastify: FastifyInstance, metrics: Metrics, slots: FairShare): void {
  const registers = [metrics.registry];
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer, by the template of its route.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const rejected = new Counter({
    name: 'http_requests_refused_total',
    help: 'Requests that were answered with 429 or 503, by the code of the problem and the limit that was reached.',
    labelNames: ['code', 'limit'],
    registers,
  });
  // They start at zero, so that the first rejection is an increase.
  for (const code of [...REJECTIONS, 'other']) rejected.inc({ code, limit: '' }, 0);
  for (const limit in errorMessages.tooManyRequests) rejected.inc({ code: 'TOO_MANY_REQUESTS', limit }, 0);
  const aborted = new Counter({
    name: 'http_requests_aborted_total',
    help: 'Requests whose client went away before their answer was whole.',
    registers,
  });
  let inFlight = 0;
  const gauge = addGauge.bind(undefined, metrics);
  gauge('http_requests_in_flight', 'Requests whose answer is not whole, streams among them.', () => inFlight);
  gauge('http_requests_running', 'Requests that have their turn.', () => slots.running);
  gauge('http_requests_waiting', 'Requests that wait for their turn.', () => slots.waiting);

  fastify.addHook('onRequest', (_request, reply, done) => {
    inFlight += 1;
    // Until the connection is done with it, however it ends.
    whenClosed(reply.raw, () => (inFlight -= 1));
    done();
  });
  fastify.addHook('onResponse', (request, { statusCode: status, elapsedTime }, done) => {
    const { is404, method, crudProblem: problem, routeOptions } = request;
    const ms = Math.round(elapsedTime * 10) / 10;
    request.log.info({ ...lineOf(request), status, ms, ...problem }, 'answered');
    if (problem && isRejection(status)) {
      const code = REJECTIONS.includes(problem.code) ? problem.code : 'other';
      rejected.inc({ code, limit: problem.limit ?? '' });
    }
    // Clients can send any method, and any path.
    const shown = fastify.supportedMethods.includes(method) ? method : 'other';
    const route = (!is404 && routeOptions.url) || 'none';
    durations.observe({ method: shown, route, status }, elapsedTime / 1_000);
    done();
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    aborted.inc();
    // Otherwise, this side has closed the connection.
    if (!brokenOff.has(request)) request.log.info(lineOf(request), 'client went away');
    done();
  });
}

/** Requests whose response has failed after its head was sent. */
const brokenOff = new WeakSet<FastifyRequest>();

/** Has Fastify log nothing of requests, except for a failure that their responses can no longer tell. */
export class ResponseLog extends LogController {
  constructor() {
    super({ disableRequestLogging: true, requestIdLogLabel: 'requestId' });
  }

  override streamError(error: Error, request: FastifyRequest): void {
    // The client went away, and has a line of its own.
    if ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    brokenOff.add(request);
    if (error instanceof OverloadedError)
      request.log.info({ ...lineOf(request), code: error.code }, 'answer broke off');
    else request.log.error({ ...lineOf(request), error }, 'answer broke off');
  }
}

function lineOf(request: FastifyRequest): object {
  const { tenant, subject } = contextOf(request).caller ?? {};
  return { method: request.method, path: pathOf(request), address: request.ip, tenant, subject };
}
