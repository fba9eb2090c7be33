import { readFileSync } from 'node:fs';
import { useProxiedApp } from '../support/proxied-app.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { expectInvalidToken, expectUnauthenticated } from '../support/problems.js';
import { acme } from '../support/tenants.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestApp, type TestApp, type TestResponse, useTestApp } from '../support/test-app.js';

/** The samples of the text format, by their name and labels. */
function samples(text: string): Record<string, number> {
  const lines = [...text.matchAll(/^([^#\n].*) (\S+)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, Number(value)]));
}

const metricsOf = async (app: TestApp) => samples((await app.get('/metrics')).text);

const app = useTestApp({ env: { WORKER: 'off' } });

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

  it('contains metrics of the process', async () => {
    const metrics = await metricsOf(app);
    expect(metrics.process_resident_memory_bytes).toBeGreaterThan(1e6);
    expect(metrics.process_cpu_seconds_total).toBeGreaterThan(0);
    expect(metrics.nodejs_eventloop_lag_p99_seconds).toBeDefined();
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
    const limited = await createTestApp({ env: { WORKER: 'off', RATE_LIMIT_ADDRESS: '4' } });
    // The client of the tests asks for the OpenAPI document, which counts.
    const refusals = async () =>
      Object.entries(await metricsOf(limited)).filter(
        ([sample, value]) => sample.startsWith('http_requests_refused_total') && value > 0,
      );
    expect(await refusals()).toEqual([]);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await fetch(`${limited.url}/todos`)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = 'http_requests_refused_total{code="TOO_MANY_REQUESTS",limit="address"}';
    expect(await refusals()).toEqual([[refused, 2]]);
    await limited.close();
  });

  it('is 405 for other methods and 400 for a query', async () => {
    expect((await app.post('/metrics', {})).status).toBe(405);
    expect((await app.get('/metrics?name=x')).status).toBe(400);
  });

  it('answers while the database hangs, without the metrics of the queue', async () => {
    const uri = freshDatabaseUri();
    const proxy = await TcpProxy.before(uri);
    const away = await createTestApp({ env: { MONGODB_URI: proxy.through(uri), WORKER: 'off' } });
    await proxy.turn('hang');
    const { status, text } = await away.get('/metrics');
    const metrics = samples(text);
    expect([status, metrics.notifications_queue_up]).toEqual([200, 0]);
    expect(Object.keys(metrics).filter((name) => name.startsWith('notifications_deliveries'))).toEqual([]);
    expect(metrics.process_resident_memory_bytes).toBeGreaterThan(0);
    await fetch(`${away.url}/todos/count`);
    const later = await metricsOf(away);
    expect(later['http_requests_refused_total{code="DATABASE_UNAVAILABLE",limit=""}']).toBe(1);
    expect(later['database_faults_total{reason="unavailable"}']).toBeGreaterThan(0);
    await proxy.turn('pass');
    await away.close();
    await proxy.close();
  });
});

describe('GET /metrics of a service with METRICS_TOKEN', () => {
  const METRICS_TOKEN = 'scrape-me-with-this-token-and-no-other';
  const app = useTestApp({ env: { WORKER: 'off', METRICS_TOKEN } });

  it('answers requests that send it', async () => {
    const { status, headers, text } = await app.get('/metrics', { token: METRICS_TOKEN });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(samples(text).process_resident_memory_bytes).toBeGreaterThan(0);
  });

  it('is a 401 for everybody else, including those with a token of a tenant', async () => {
    expectUnauthenticated(await app.get('/metrics'), '/metrics');
    for (const token of [`${METRICS_TOKEN}x`, METRICS_TOKEN.slice(1), acme])
      expectInvalidToken(await app.get('/metrics', { token }), '/metrics');
    expect((await fetch(`${app.url}/metrics`, { method: 'HEAD' })).status).toBe(401);
  });

  it('opens nothing else', async () => {
    expectInvalidToken(await app.get('/subscriptions', { token: METRICS_TOKEN }), '/subscriptions');
    expect((await app.get('/health/live')).status).toBe(200);
  });
});

describe('GET /metrics of a service with METRICS=off', () => {
  const app = useTestApp({ env: { WORKER: 'off', METRICS: 'off' } });

  it('does not exist', async () => {
    expect((await app.get('/metrics')).status).toBe(404);
    expect((await app.get('/docs/openapi.json')).text).not.toContain('/metrics');
    expect((await app.get('/health/live')).status).toBe(200);
  });
});

describe('GET /metrics of requests that arrive while the database is busy', () => {
  const app = useProxiedApp({ env: { WORKER: 'off' } });

  /** By how much each sample rises when the database hears of the requests after all of them have arrived. */
  async function risesOf(requests: (() => Promise<TestResponse>)[]): Promise<(sample: string) => number> {
    const before = await metricsOf(app);
    let arrived = 0;
    const count = () => void arrived++;
    app.app.getHttpServer().on('request', count);
    await app.proxy.turn('hold');
    const answers = Promise.all(requests.map((send) => send()));
    await eventually(() => expect(arrived).toBe(requests.length));
    app.app.getHttpServer().off('request', count);
    await app.proxy.turn('pass');
    const statuses = new Set((await answers).map(({ status }) => status));
    expect([...statuses].filter((status) => status >= 300)).toEqual([]);
    const after = await metricsOf(app);
    return (sample) => (after[sample] ?? 0) - (before[sample] ?? 0);
  }

  it.each(['creates', 'updates'])(
    'counts the commands of the database, and how many %s share one',
    async (kind) => {
      const { body } = await app.post('/todos', { title: 'Cup' });
      const send = (i: number) => () =>
        kind === 'creates'
          ? app.post('/todos', { title: `Cup ${i}` })
          : app.patch(`/todos/${String(body._id)}`, { completed: i % 2 === 0 });
      const rise = await risesOf(Array.from({ length: 50 }, (_, i) => send(i)));
      const sizes = (of: string) => rise(`database_batch_size_${of}{kind="${kind}"}`);
      expect(sizes('sum')).toBe(50);
      expect(sizes('count')).toBeLessThan(50);
      expect(rise('database_command_duration_seconds_count')).toBeGreaterThanOrEqual(sizes('count'));
      expect(rise('database_command_duration_seconds_sum')).toBeGreaterThan(0);
      expect((await metricsOf(app)).database_connections_in_use).toBeGreaterThanOrEqual(0);
    },
  );
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

/** Functions of PromQL, and of Grafana's variables, that the dashboard uses. */
const FUNCTIONS = ['histogram_quantile', 'label_values', 'max', 'min', 'rate', 'sum'];

/** The labels that a scrape adds. */
const OF_THE_SCRAPE = ['instance', 'job'];

/** The series and labels that a query names. */
function namesIn(query: string): { series: string[]; labels: string[] } {
  const labels: string[] = [];
  const rest = query
    .replaceAll(/\{([^}]*)\}/g, (_all, matchers: string) => {
      labels.push(...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name));
      return '';
    })
    .replaceAll(/\bby\s*\(([^)]*)\)/g, (_all, names: string) => {
      labels.push(...names.split(',').map((name) => name.trim()));
      return '';
    })
    .replaceAll(/\[[^\]]*\]|, job\)/g, '');
  const words = rest.match(/[a-zA-Z_:][\w:]*/g) ?? [];
  return { series: words.filter((word) => !FUNCTIONS.includes(word)), labels };
}

describe('the dashboard for Grafana', () => {
  let text = '';
  beforeAll(async () => {
    await app.get('/health/live');
    // What is told of garbage collection and the like begins with the first scrape.
    await app.get('/metrics');
    text = (await app.get('/metrics')).text;
  });

  it('contains a query in every panel', () => {
    const empty = dashboard.panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0);
    expect(empty).toEqual([]);
    expect(queries.length).toBeGreaterThan(30);
  });

  it.each([...new Set(queries.flatMap((query) => namesIn(query).series))])(
    'asks for %s, which /metrics has',
    (name) => {
      expect(text).toMatch(new RegExp(`^${name}(?:\\{| )`, 'm'));
    },
  );

  it('names no label that /metrics does not have', () => {
    const known = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    const asked = new Set(queries.flatMap((query) => namesIn(query).labels));
    expect([...asked].filter((name) => !known.has(name) && !OF_THE_SCRAPE.includes(name))).toEqual([]);
  });

  it('shows every metric of requests, the database and the notifications', () => {
    const declared = [...text.matchAll(/^# TYPE ((?:http|database|notifications)_\w+)/gm)].map(
      ([, name]) => name ?? '',
    );
    const shown = queries.join(' ');
    expect(declared.length).toBeGreaterThan(10);
    expect(declared.filter((name) => !shown.includes(name))).toEqual([]);
  });
});
