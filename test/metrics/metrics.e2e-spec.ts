import { readFileSync } from 'node:fs';
import { useProxiedApp } from '../support/proxied-app.js';
import { eventually } from '../support/eventually.js';
import { expectInvalidToken, expectUnauthenticated } from '../support/problems.js';
import { acme } from '../support/tenants.js';
import { createTestApp, type TestApp, useTestApp } from '../support/test-app.js';

/** The samples of the text format, by their name and labels. */
function samples(text: string): Record<string, number> {
  const lines = [...text.matchAll(/^([^#\n].*) (\S+)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, Number(value)]));
}

const metricsOf = async (app: TestApp) => samples((await app.get('/metrics')).text);

const app = useProxiedApp({ env: { WORKER: 'off' } });

describe('GET /metrics', () => {
  it('has the text format of Prometheus, and no token is needed', async () => {
    const { status, headers, text } = await app.get('/metrics');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const lines = text.split('\n').filter((line) => line !== '');
    const ofFormat = /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{[^}]*\})? (?:[-+\d.e]+|Nan|\+Inf))$/;
    expect(lines.filter((line) => !ofFormat.test(line))).toEqual([]);
    const declared = lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(declared).toEqual([...new Set(declared)]);
  });

  it('has no label that contains a tenant or a URL', async () => {
    const { text } = await app.get('/metrics');
    const ours = text.split('\n').filter((line) => /^(?:notifications|http|database)_/.test(line));
    const labels = ours.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map((match) => match[1]));
    const known = ['code', 'kind', 'le', 'limit', 'method', 'outcome', 'reason', 'route', 'status'];
    expect([...new Set(labels)].sort()).toEqual(known);
  });

  it('has the durations of requests by the template of their route, their method and status', async () => {
    const _id = (await app.post('/todos', { title: 'Tea' })).body._id as string;
    const counts = async () => {
      const metrics = await metricsOf(app);
      return [
        '{method="GET",route="/todos/:id",status="200"}',
        '{method="GET",route="/todos/:id",status="404"}',
        '{method="GET",route="none",status="404"}',
        '{method="other",route="none",status="405"}',
      ].map((labels) => metrics[`http_request_duration_seconds_count${labels}`] ?? 0);
    };
    const before = await counts();
    for (const path of [_id, _id, '0'.repeat(24)]) await app.get(`/todos/${path}`);
    await app.get('/nothing/here');
    await fetch(`${app.url}/todos`, { method: 'PROPFIND' });
    expect((await counts()).map((count, i) => count - (before[i] ?? 0))).toEqual([2, 1, 1, 1]);
    const { text } = await app.get('/metrics');
    expect(text).not.toContain(_id);
    expect(text).not.toContain('nothing');
  });

  it('has buckets that add up', async () => {
    const labels = 'method="GET",route="/health/live",status="200"';
    await app.get('/health/live');
    const metrics = await metricsOf(app);
    const name = 'http_request_duration_seconds';
    const isBucket = (sample: string) => sample.startsWith(`${name}_bucket{`) && sample.includes(labels);
    const buckets = Object.entries(metrics).filter(([sample]) => isBucket(sample));
    expect(buckets).toHaveLength(14);
    const values = buckets.map(([, value]) => value);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(values.at(-1)).toBe(metrics[`${name}_count{${labels}}`]);
    expect(metrics[`${name}_sum{${labels}}`]).toBeGreaterThan(0);
    expect(buckets.at(-1)?.[0]).toContain('le="+Inf"');
  });

  it('has the requests in flight, the one that asks among them, and forgets those whose client went away', async () => {
    const inFlight = async () => (await metricsOf(app)).http_requests_in_flight;
    await eventually(async () => expect(await inFlight()).toBe(1));
    const leaving = new AbortController();
    const headers = { Authorization: `Bearer ${acme}` };
    await fetch(`${app.url}/events`, { headers, signal: leaving.signal });
    expect(await inFlight()).toBe(2);
    leaving.abort();
    await eventually(async () => expect(await inFlight()).toBe(1));
    const metrics = await metricsOf(app);
    expect(metrics.http_requests_aborted_total).toBe(1);
    expect([metrics.http_requests_running, metrics.http_requests_waiting]).toEqual([0, 0]);
  });

  it('counts refusals by their code and by the limit that was reached', async () => {
    await using limited = await createTestApp({ env: { WORKER: 'off', RATE_LIMIT_ADDRESS: '4' } });
    // The client of the tests asks for the OpenAPI document, which counts.
    const refusals = async () =>
      Object.entries(await metricsOf(limited)).filter(
        ([sample, value]) => sample.startsWith('http_requests_refused_total') && value > 0,
      );
    expect(await refusals()).toEqual([]);
    for (const status of [200, 200, 200, 429, 429])
      expect((await fetch(`${limited.url}/todos`)).status).toBe(status);
    const refused = 'http_requests_refused_total{code="TOO_MANY_REQUESTS",limit="address"}';
    expect(await refusals()).toEqual([[refused, 2]]);
  });

  it('is 405 for other methods and 400 for a query', async () => {
    expect((await app.post('/metrics', {})).status).toBe(405);
    expect((await app.get('/metrics?name=x')).status).toBe(400);
  });

  it('answers while the database hangs, with the metrics of the process and without those of the queue', async () => {
    await app.proxy.turn('hang');
    const { status, text } = await app.get('/metrics');
    const metrics = samples(text);
    expect(status).toBe(200);
    expect(Object.keys(metrics).filter((name) => name.startsWith('notifications_deliveries'))).toEqual([]);
    expect(metrics.process_resident_memory_bytes).toBeGreaterThan(1e6);
    expect(metrics.process_cpu_seconds_total).toBeGreaterThan(0);
    await fetch(`${app.url}/todos/count`);
    const later = await metricsOf(app);
    expect(later['http_requests_refused_total{code="DATABASE_UNAVAILABLE",limit=""}']).toBe(1);
    expect(later['database_faults_total{reason="unavailable"}']).toBeGreaterThan(0);
  });

  it.each(['creates', 'updates'])('counts database commands, and how many %s share one', async (kind) => {
    const { body } = await app.post('/todos', { title: 'Cup' });
    const before = await metricsOf(app);
    const server = app.app.getHttpServer();
    let arrived = 0;
    const count = () => void arrived++;
    server.on('request', count);
    await app.proxy.turn('hold');
    const sent = Array.from({ length: 20 }, (_, i) =>
      kind === 'creates'
        ? app.post('/todos', { title: `Cup ${i}` })
        : app.patch(`/todos/${body._id}`, { completed: i % 2 === 0 }),
    );
    await eventually(() => expect(arrived).toBe(20));
    server.off('request', count);
    // The database hears of the requests after all of them have arrived.
    await app.proxy.turn('pass');
    const statuses = new Set((await Promise.all(sent)).map(({ status }) => status));
    expect([...statuses]).toEqual([kind === 'creates' ? 201 : 200]);
    const after = await metricsOf(app);
    const rise = (sample: string) => (after[sample] ?? 0) - (before[sample] ?? 0);
    const sizes = (of: string) => rise(`database_batch_size_${of}{kind="${kind}"}`);
    expect(sizes('sum')).toBe(20);
    expect(sizes('count')).toBeLessThan(20);
    expect(rise('database_command_duration_seconds_count')).toBeGreaterThanOrEqual(sizes('count'));
    expect(rise('database_command_duration_seconds_sum')).toBeGreaterThan(0);
    expect(after.database_connections_in_use).toBeGreaterThanOrEqual(0);
  });
});

describe('GET /metrics of a service with METRICS_TOKEN', () => {
  const METRICS_TOKEN = 'scrape-me-with-this-token-and-no-other';
  const app = useTestApp({ env: { WORKER: 'off', METRICS_TOKEN } });

  it('answers requests that send it, which opens nothing else', async () => {
    const { status, headers, text } = await app.get('/metrics', { token: METRICS_TOKEN });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(samples(text).process_resident_memory_bytes).toBeGreaterThan(0);
    expectInvalidToken(await app.get('/subscriptions', { token: METRICS_TOKEN }), '/subscriptions');
    expect((await app.get('/health/live')).status).toBe(200);
  });

  it('is a 401 for everybody else, including those with a token of a tenant', async () => {
    expectUnauthenticated(await app.get('/metrics'), '/metrics');
    for (const token of [`${METRICS_TOKEN}x`, METRICS_TOKEN.slice(1), acme])
      expectInvalidToken(await app.get('/metrics', { token }), '/metrics');
    expect((await fetch(`${app.url}/metrics`, { method: 'HEAD' })).status).toBe(401);
  });
});

it('GET /metrics does not exist with METRICS=off', async () => {
  await using app = await createTestApp({ env: { WORKER: 'off', METRICS: 'off' } });
  expect((await app.get('/metrics')).status).toBe(404);
  expect((await app.get('/docs/openapi.json')).text).not.toContain('/metrics');
  expect((await app.get('/health/live')).status).toBe(200);
});

interface Dashboard {
  panels: { title: string; type: string; targets?: { expr: string }[] }[];
  templating: { list: { definition?: string }[] };
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../deploy/grafana/posts-and-todos.json', import.meta.url), 'utf8'),
) as Dashboard;

const queries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
];

const FUNCTIONS = /^(?:histogram_quantile|label_values|max|min|rate|sum)$/;

/** The series that the queries name, without their matchers, groupings and ranges. */
const series = queries
  .map((query) => query.replaceAll(/\{[^}]*\}|\bby\s*\([^)]*\)|\[[^\]]*\]|, job\)/g, ''))
  .flatMap((query) => query.match(/[a-zA-Z_:][\w:]*/g) ?? [])
  .filter((word) => !FUNCTIONS.test(word));

/** The labels that they match or group by. */
const labels = queries
  .flatMap((query) => [...query.matchAll(/(\w+)\s*(?:=~|!~|!=|=)|\bby\s*\(([^)]*)\)/g)])
  .flatMap(([, matched, grouped = '']) => matched ?? grouped.split(/,\s*/));

describe('the dashboard for Grafana', () => {
  let text = '';
  beforeAll(async () => {
    // What is told of garbage collection and the like begins with the first scrape.
    for (const path of ['/health/live', '/metrics']) await app.get(path);
    text = (await app.get('/metrics')).text;
  });

  it('contains a query in every panel', () => {
    const empty = dashboard.panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0);
    expect(empty).toEqual([]);
    expect(queries.length).toBeGreaterThan(30);
  });

  it('asks for no series and no label that /metrics, or the scrape, does not have', () => {
    const names = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);
    const [known, knownLabels] = [names(/^(\w+)(?:\{| )/gm), names(/[{,](\w+)="/g)];
    expect(new Set(series).size).toBeGreaterThan(25);
    expect(series.filter((name) => !known.includes(name))).toEqual([]);
    expect(labels.filter((name) => ![...knownLabels, 'instance', 'job'].includes(name))).toEqual([]);
  });

  it('shows every metric of requests, the database and the notifications', () => {
    const declared = [...text.matchAll(/^# TYPE ((?:http|database|notifications)_\w+)/gm)];
    expect(declared.length).toBeGreaterThan(10);
    const shown = queries.join(' ');
    expect(declared.filter(([, name = '']) => !shown.includes(name))).toEqual([]);
  });
});
