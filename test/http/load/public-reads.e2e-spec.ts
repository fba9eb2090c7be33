import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import type { FastifyInstance } from 'fastify';
import { Gauge } from 'prom-client';
import { Metrics } from '../../../src/common/metrics/index.js';
import { storeTodos } from '../../support/records.js';
import { useTestApp } from '../../support/test-app.js';

/** How many requests are measured together. */
const TIMES = 3;
/** Records of the largest page. */
const RECORDS = 100;
/** A whole list streams the same records: somewhat more work for each. */
const TOLERANCE = 1.5;

/** Counts that are the same on every machine: JavaScript calls, characters of JSON, and files and compressions begun. */
type Cost = Record<'calls' | 'json' | 'native', number>;

/** Every path with a GET, from the tree that Fastify prints. */
function readsOf(fastify: FastifyInstance): string[] {
  const parents: string[] = [];
  return fastify
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods = ''] =
        /^((?:[│ ] {3})*)[├└]── (\S+) \((.+)\)$/.exec(line) ?? [];
      if (segment === '') return [];
      const depth = indent.length / 4;
      const [first = ''] = segment.split('|');
      const path = `${parents[depth] ?? ''}${first}`.replace('//', '/');
      parents[depth + 1] = path;
      return methods.split(', ').includes('GET') ? [path] : [];
    });
}

describe('public reads', () => {
  const app = useTestApp({ env: { WORKER: 'off' } });
  let fastify: FastifyInstance;
  let files: string[];
  let id: string;
  const session = new Session();

  beforeAll(async () => {
    fastify = app.app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
    const { insertedIds } = await storeTodos(app.database, RECORDS, '');
    id = String(insertedIds[0]);
    const page = (await fastify.inject('/docs')).body;
    files = [...page.matchAll(/(?:src|href)=['"]\.\/docs\/([\w.-]+)/g)].map(([, file]) => file as string);
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  });
  afterAll(() => session.disconnect());

  const ask = (url: string) => fastify.inject({ url, headers: { 'Accept-Encoding': 'gzip' } });

  /** What requests cost that follow one another, once the first has been answered. */
  async function costOf(url: string): Promise<Cost> {
    await ask(url);
    const cost = { calls: 0, json: 0, native: 0 };
    const hook = createHook({
      init: (_id, type) => void (cost.native += /ZLIB|^FS|^FILE/.test(type) ? 1 : 0),
    });
    const made = jest.spyOn(JSON, 'stringify');
    await session.post('Profiler.takePreciseCoverage');
    hook.enable();
    for (let i = 0; i < TIMES; i++) await ask(url);
    hook.disable();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    for (const { value } of made.mock.results) cost.json += (value as string | undefined)?.length ?? 0;
    made.mockRestore();
    for (const { functions } of result)
      for (const { ranges } of functions) cost.calls += ranges[0]?.count ?? 0;
    return cost;
  }

  it('cost no more than the largest page of todos, each of them', async () => {
    // A scrape a second is not what this is about.
    app.app.get(Metrics, { strict: false }).sharedMs = Infinity;
    const page = await costOf(`/todos?limit=${RECORDS}`);
    const json = TIMES * (await fastify.inject(`/todos?limit=${RECORDS}`)).body.length;
    const reads = readsOf(fastify)
      .filter((path) => path !== '/events')
      .flatMap((path) =>
        path === '/docs/*' ? files.map((file) => `/docs/${file}`) : path.replace(/:\w+/g, id),
      );
    expect(reads).toEqual(
      expect.arrayContaining(['/metrics', '/docs/openapi.yaml', `/todos/${id}`, '/posts/api']),
    );
    expect(files).toEqual(expect.arrayContaining(['swagger-ui.css', 'swagger-ui-bundle.js']));
    const dear: [string, Cost][] = [];
    for (const path of reads) {
      const cost = await costOf(path);
      const isSame = /^\/(?:docs|metrics)/.test(path);
      const isLong = cost.calls > TOLERANCE * page.calls || cost.json > TOLERANCE * json;
      if (isLong || (isSame && cost.native > 0)) dear.push([path, cost]);
    }
    expect(dear).toEqual([]);
  });

  it('of what is the same for everybody are sent from memory, with a strong ETag for each coding', async () => {
    const paths = ['/docs', '/docs/openapi.json', '/docs/openapi.yaml', '/docs/swagger-ui.css', '/docs/live'];
    for (const path of paths) {
      const tags = new Set<string>();
      for (const coding of ['gzip', 'identity']) {
        const request = { url: path, headers: { 'accept-encoding': coding, range: 'bytes=0-9' } };
        const { statusCode, headers, rawPayload } = await fastify.inject(request);
        const tag = String(headers.etag);
        expect([statusCode, headers['content-encoding'] ?? 'identity']).toEqual([200, coding]);
        expect(tag).toMatch(/^"[^"]+"$/);
        tags.add(tag);
        const again = { url: path, headers: { 'accept-encoding': coding, 'if-none-match': `"x", W/${tag}` } };
        const known = await fastify.inject(again);
        expect([known.statusCode, known.headers.etag, known.body]).toEqual([304, tag, '']);
        const head = await fastify.inject({ method: 'HEAD', ...request });
        expect([head.headers.etag, head.headers['content-length']]).toEqual([tag, String(rawPayload.length)]);
      }
      expect(tags.size).toBe(2);
    }
  });

  it('of files that the explorer does not use are a 404', async () => {
    for (const file of ['swagger-ui.js.map', 'swagger-ui-es-bundle.js', 'package.json', '../package.json'])
      expect((await fastify.inject(`/docs/${encodeURIComponent(file)}`)).statusCode).toBe(404);
  });

  it('of metrics at the same time, and soon after, share one rendering', async () => {
    const metrics = app.app.get(Metrics, { strict: false });
    expect(new Metrics().sharedMs).toBe(1_000);
    metrics.sharedMs = 0;
    await fastify.inject('/metrics');
    let rendered = 0;
    const collect = () => void rendered++;
    new Gauge({ name: 'rendered', help: 'Of this test.', registers: [metrics.registry], collect });
    const first = metrics.render();
    metrics.sharedMs = Infinity;
    await first;
    const answers = await Promise.all(Array.from({ length: 50 }, () => fastify.inject('/metrics')));
    answers.push(await fastify.inject('/metrics'));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(rendered).toBe(1);
  });
});
