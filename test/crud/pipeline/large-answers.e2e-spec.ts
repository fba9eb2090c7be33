/** @slow */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { eventually } from '../../support/eventually.js';
import { restOf, useUnhurriedReaders } from '../../support/open-cursors.js';
import { releaseClock, stopClock } from '../../support/own-clock.js';
import { expectProblem } from '../../support/problems.js';
import { each, storeTodos } from '../../support/records.js';
import { ACME, acme } from '../../support/tenants.js';
import { type TestApp, useTestApp } from '../../support/test-app.js';

/** More than the sockets between a client and the service can hold. */
const RECORDS = 2_500;
/** So many posts of 100 KB each. */
const storePosts = (app: TestApp, count: number) => {
  const post = { content: 'x'.repeat(100_000), tenant: ACME, createdAt: new Date(), __v: 0 };
  const posts = Array.from({ length: count }, (_, i) => ({ ...post, title: `${i}` }));
  return app.database.collection('posts').insertMany(posts);
};

describe.each(['generated', 'handwritten'])('whole lists, %s', (form) => {
  const app = useTestApp({
    env: { TODOS_API: form, TRUSTED_PROXIES: '127.0.0.1' },
    limits: { lists: { maxInAll: 3, maxPerClient: 2 } },
  });
  beforeAll(() => storeTodos(app.database, RECORDS));
  const readers = useUnhurriedReaders(app);
  afterEach(async () => {
    readers.endAll();
    await eventually(async () =>
      expect((await app.get('/metrics')).text).toMatch(/^http_requests_in_flight 1$/m),
    );
  });
  /** Begins to read a list, and stops. */
  const stall = (address = '192.0.2.1') => readers.start('/todos', { 'X-Forwarded-For': address });

  it('are limited in number per client at a time; short answers are not limited', async () => {
    const first = await stall();
    await stall();
    const refused = await app.get('/todos', { headers: { 'X-Forwarded-For': '192.0.2.1' } });
    const detail =
      'You read 2 whole lists at the same time, which is the maximum. Read pages, or try again later.';
    expectProblem(refused, { status: 429, code: 'TOO_MANY_STREAMS', detail, instance: '/todos' });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await app.get('/todos?limit=1')).status).toBe(200);
    first.resume();
    await once(first, 'end');
    await eventually(async () => expect((await fetch(`${app.url}/todos?limit=1`)).status).toBe(200));
    expect((await stall()).statusCode).toBe(200);
  });

  it('of the client with most give a place up to a client with fewer, and break off', async () => {
    const stalled = [await stall(), await stall(), await stall('192.0.2.2'), await stall('192.0.2.3')];
    expect(stalled.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const [oldest, newest, ...others] = stalled.map(restOf);
    await expect(newest).rejects.toMatchObject({ code: 'ECONNRESET' });
    for (const text of [oldest, ...others]) expect(JSON.parse((await text) ?? '')).toHaveLength(RECORDS);
    await eventually(() =>
      expect(app.logLines).toContainEqual(
        expect.objectContaining({ msg: 'answer broke off', level: 'info', code: 'OVERLOADED' }),
      ),
    );
  });

  it('of networks without a token, however many, leave a tenant its place', async () => {
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      expect((await stall(address)).statusCode).toBe(200);
    expect((await stall('192.0.2.4')).statusCode).toBe(503);
    const { status, body } = await app.get('/subscriptions', { token: acme });
    expect([status, body]).toEqual([200, []]);
  });

  it('release their place when their client goes away, and take none if they are refused', async () => {
    for (let i = 0; i < 4; i++) {
      await eventually(async () => {
        const response = await stall();
        if (response.statusCode !== 200) response.resume();
        expect(response.statusCode).toBe(200);
      });
      readers.endAll();
      expect((await app.get('/todos?limit=x')).status).toBe(400);
    }
  });
});

describe('a large page', () => {
  const app = useTestApp();
  beforeAll(() => storePosts(app, 60));

  it('is the same JSON as a small one', async () => {
    const large = await app.get('/posts/api?limit=50&offset=5');
    const small = await app.get('/posts/api?limit=50&offset=5&fields=title');
    expect(Object.keys(large.body)).toEqual(['results', 'count', 'next', 'prev']);
    expect(large.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { results, count, prev, next } = large.body;
    expect(each(results, 'title')).toEqual(each(small.body.results, 'title'));
    expect(results[49].content).toHaveLength(100_000);
    expect([typeof count, typeof prev, typeof next]).toEqual(['number', 'string', 'string']);
    expect(large.headers.get('link')?.split('&fields').join('')).toContain('rel="next"');
    const { body } = await app.get('/posts/api?limit=50&count=none');
    expect(Object.keys(body)).toEqual(['results', 'next', 'prev']);
  });

  it('has no more listeners than Node takes for a leak', async () => {
    const { server } = app.app.getHttpAdapter().getInstance();
    let listeners = 0;
    server.prependOnceListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      response.on('newListener', (name) => {
        if (name === 'close') listeners = Math.max(listeners, response.listenerCount('close') + 1);
      });
    });
    const response = await fetch(`${app.url}/posts/api?limit=50`);
    expect(await response.json()).toMatchObject({ count: 60 });
    expect(listeners).toBeGreaterThan(0);
    expect(listeners).toBeLessThanOrEqual(10);
  });

  it('is sent to many clients at the same time, and each gets all of it', async () => {
    const pages = await Promise.all(Array.from({ length: 20 }, () => app.get('/posts/api?limit=20')));
    expect(pages.map(({ body }) => body.results?.length)).toEqual(Array(20).fill(20));
  });
});

describe('large pages that wait for memory', () => {
  const PLACES = 8;
  /** Of 10 MB each, the half of the memory that one client may have. */
  const READERS = 6;
  const IN_ALL = 13;
  const app = useTestApp({ env: { MAX_RUNNING_REQUESTS: String(PLACES), TRUSTED_PROXIES: '127.0.0.1' } });
  const readers = useUnhurriedReaders(app);
  afterEach(() => {
    releaseClock();
    jest.restoreAllMocks();
  });
  beforeAll(() => storePosts(app, 100));

  it('do not block small requests, and are served in turn', async () => {
    // Nobody is given up in the meantime.
    stopClock('setTimeout');
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    for (let i = 0; i < READERS; i++) await readers.start('/posts/api?limit=100');
    let answered = 0;
    const pages = Array.from({ length: PLACES }, async () => {
      // It turns out to be small, but nobody knows that yet.
      const response = await fetch(`${app.url}/posts/api?limit=100&fields=title`);
      answered += 1;
      await response.arrayBuffer();
      return response.status;
    });
    await eventually(async () => {
      const { text } = await app.get('/metrics');
      expect(text).toContain(`http_requests_in_flight ${READERS + PLACES + 1}\n`);
    });
    expect((await app.get('/todos?limit=1')).status).toBe(200);
    expect(answered).toBe(0);
    readers.endAll();
    expect(await Promise.all(pages)).toEqual(Array(PLACES).fill(200));
    await eventually(async () => {
      const { text } = await app.get('/metrics');
      for (const name of ['running', 'waiting']) expect(text).toContain(`http_requests_${name} 0\n`);
    });
  });

  it('get the memory of clients that do not read their answers', async () => {
    let begun = 0;
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      for (let i = 0; i < READERS; i++) {
        const reading = readers.start('/posts/api?limit=100', { 'X-Forwarded-For': address });
        // Those that do not begin end with the test.
        void reading.then(
          () => (begun += 1),
          () => undefined,
        );
      }
    }
    await eventually(() => expect(begun).toBeGreaterThanOrEqual(IN_ALL));
    const { status, body } = await app.get('/posts/api?limit=100');
    expect([status, body.results?.length]).toEqual([200, 100]);
  });
});
