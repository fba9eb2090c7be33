import { freshDatabaseUri } from './support/mongodb.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { createTestApp, type TestApp } from './support/test-app.js';

const WITHIN_MS = 5_000;

/** The samples of the text format, by their name and labels. */
function samples(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('GET /metrics', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp({ env: { WORKER: 'off' } });
  });
  afterAll(() => app.close());

  it('has the text format of Prometheus, and no token is needed', async () => {
    const { status, headers, text } = await app.get('/metrics');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const lines = text.split('\n').filter((line) => line !== '');
    const ofFormat = /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{[^}]*\})? (?:[-+\d.e]+|Nan|\+Inf))$/;
    expect(lines.filter((line) => !ofFormat.test(line))).toEqual([]);
    const declared = lines.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(declared).toEqual([...new Set(declared)]);
  });

  it('tells of the process', async () => {
    const figures = samples((await app.get('/metrics')).text);
    expect(figures.process_resident_memory_bytes).toBeGreaterThan(1e6);
    expect(figures.process_cpu_seconds_total).toBeGreaterThan(0);
    expect(figures.nodejs_eventloop_lag_p99_seconds).toBeDefined();
  });

  it('has no label that tells of a tenant or a URL', async () => {
    const { text } = await app.get('/metrics');
    const ours = text.split('\n').filter((line) => line.startsWith('notifications_'));
    const labels = ours.flatMap((line) => [...line.matchAll(/[{,](\w+)="/g)].map((match) => match[1]));
    expect(new Set(labels)).toEqual(new Set(['outcome']));
  });

  it('is 405 for other methods and 400 for a query', async () => {
    expect((await app.post('/metrics', {})).status).toBe(405);
    expect((await app.get('/metrics?name=x')).status).toBe(400);
  });

  it('answers in time while the database hangs, without the figures of the queue', async () => {
    const uri = freshDatabaseUri();
    const proxy = await TcpProxy.before(uri);
    const away = await createTestApp({ env: { MONGODB_URI: proxy.through(uri), WORKER: 'off' } });
    await proxy.turn('hang');
    const begun = performance.now();
    const { status, text } = await away.get('/metrics');
    expect(performance.now() - begun).toBeLessThan(WITHIN_MS);
    const figures = samples(text);
    expect([status, figures.notifications_queue_up]).toEqual([200, 0]);
    expect(Object.keys(figures).filter((name) => name.startsWith('notifications_deliveries'))).toEqual([]);
    expect(figures.process_resident_memory_bytes).toBeGreaterThan(0);
    await proxy.turn('pass');
    await away.close();
    await proxy.close();
  });
});
