/** @slow */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { eventually } from '../../support/eventually.js';
import { releaseClock, stopClock } from '../../support/own-clock.js';
import { expectProblem } from '../../support/problems.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

/** More than the sockets between a client and the service can hold. */
const RECORDS = 1_500;
const TENANT = '665f1c2ab7e3a90d4c8b0001';

describe.each(['generated', 'handwritten'])('whole lists, %s', (form) => {
  const open: ClientRequest[] = [];
  const app = useTestApp({
    env: { TODOS_API: form, TRUSTED_PROXIES: '127.0.0.1' },
    limits: { lists: { maxInAll: 3, maxPerClient: 2 } },
  });
  beforeAll(async () => {
    const description = 'x'.repeat(10_000);
    const records = Array.from({ length: RECORDS }, () => ({
      title: 'x',
      description,
      completed: false,
      createdAt: new Date(),
      updatedAt: new Date(),
      __v: 0,
    }));
    await app.database.collection('todos').insertMany(records);
  });
  afterEach(async () => {
    open.splice(0).forEach((sent) => sent.destroy());
    await eventually(async () =>
      expect((await app.get('/metrics')).text).toMatch(/^http_requests_in_flight 1$/m),
    );
  });

  /** Begins to read a list, and stops. */
  async function stall(address = '192.0.2.1'): Promise<IncomingMessage> {
    const sent = request(`${app.url}/todos`, { headers: { 'X-Forwarded-For': address } }).end();
    open.push(sent);
    sent.on('error', () => undefined);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  }

  it('are limited in number per client at a time; short answers are not limited', async () => {
    const first = await stall();
    await stall();
    const refused = await app.get('/todos', { headers: { 'X-Forwarded-For': '192.0.2.1' } });
    expectProblem(refused, {
      status: 429,
      code: 'TOO_MANY_STREAMS',
      detail:
        'You read 2 whole lists at the same time, which is the maximum. Read pages, or try again later.',
      instance: '/todos',
    });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await app.get('/todos?limit=1')).status).toBe(200);
    first.resume();
    await once(first, 'end');
    await eventually(async () => expect((await fetch(`${app.url}/todos?limit=1`)).status).toBe(200));
    const again = await stall();
    expect(again.statusCode).toBe(200);
  });

  it('of the client with most give a place up to a client with fewer, and break off', async () => {
    const [oldest, newest, other] = [await stall(), await stall(), await stall('192.0.2.2')];
    const third = await stall('192.0.2.3');
    expect([oldest, newest, other, third].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const texts = [oldest, newest, other, third].map(textOf);
    await expect(texts[1]).rejects.toMatchObject({ code: 'ECONNRESET' });
    for (const text of [texts[0], texts[2], texts[3]]) {
      expect(JSON.parse((await text) ?? '')).toHaveLength(RECORDS);
    }
    await eventually(() =>
      expect(app.logLines).toContainEqual(
        expect.objectContaining({ msg: 'answer broke off', level: 'info', code: 'OVERLOADED' }),
      ),
    );
  });

  it('of networks without a token, however many, leave a tenant its place', async () => {
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      expect((await stall(address)).statusCode).toBe(200);
    }
    expect((await stall('192.0.2.4')).statusCode).toBe(503);
    const { status, body } = await app.get('/subscriptions', { token: await tokenOf(ACME) });
    expect([status, body]).toEqual([200, []]);
  });

  it('release their place when their client goes away', async () => {
    for (let i = 0; i < 4; i++) {
      await eventually(async () => {
        const response = await stall();
        if (response.statusCode !== 200) response.resume();
        expect(response.statusCode).toBe(200);
      });
      open.splice(0).forEach((sent) => sent.destroy());
    }
  });

  it('take no place if their order is refused', async () => {
    for (let i = 0; i < 4; i++) expect((await app.get('/todos?limit=x')).status).toBe(400);
    expect((await stall()).statusCode).toBe(200);
  });
});

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part as string;
  return text;
}

describe('a large page', () => {
  const app = useTestApp();
  beforeAll(async () => {
    const content = 'x'.repeat(100_000);
    const createdAt = new Date();
    await app.database
      .collection('posts')
      .insertMany(
        Array.from({ length: 60 }, (_, i) => ({ title: `${i}`, content, tenant: TENANT, createdAt, __v: 0 })),
      );
  });

  it('is the same JSON as a small one', async () => {
    const large = await app.get('/posts/api?limit=50&offset=5');
    const small = await app.get('/posts/api?limit=50&offset=5&fields=title');
    expect(Object.keys(large.body)).toEqual(['results', 'count', 'next', 'prev']);
    expect(large.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(large.body.results.map(({ title }: { title: string }) => title)).toEqual(
      small.body.results.map(({ title }: { title: string }) => title),
    );
    expect(large.body.results[49].content).toHaveLength(100_000);
    expect([large.body.count, large.body.prev, large.body.next].map((value) => typeof value)).toEqual([
      'number',
      'string',
      'string',
    ]);
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
    const read = async () => (await fetch(`${app.url}/posts/api?limit=20`)).json();
    const pages = (await Promise.all(Array.from({ length: 20 }, read))) as { results?: unknown[] }[];
    expect(pages.map(({ results }) => results?.length)).toEqual(Array.from({ length: 20 }, () => 20));
  });
});

describe('large pages that wait for memory', () => {
  const PLACES = 8;
  /** Of 10 MB each, the half of the memory that one client may have. */
  const READERS = 6;
  const IN_ALL = 13;
  const app = useTestApp({
    env: { MAX_RUNNING_REQUESTS: String(PLACES), TRUSTED_PROXIES: '127.0.0.1' },
  });
  afterEach(() => {
    releaseClock();
    jest.restoreAllMocks();
  });
  beforeAll(async () => {
    const content = 'x'.repeat(100_000);
    const createdAt = new Date();
    const posts = Array.from({ length: 100 }, (_, i) => ({
      title: `${i}`,
      content,
      tenant: TENANT,
      createdAt,
      __v: 0,
    }));
    await app.database.collection('posts').insertMany(posts);
  });

  it('do not block small requests, and are served in turn', async () => {
    // Nobody is given up in the meantime.
    stopClock('setTimeout');
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const readers: ClientRequest[] = [];
    for (let i = 0; i < READERS; i++) {
      const reader = request(`${app.url}/posts/api?limit=100`).end();
      reader.on('error', () => undefined);
      await once(reader, 'response');
      readers.push(reader);
    }
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
    readers.forEach((reader) => reader.destroy());
    expect(await Promise.all(pages)).toEqual(Array.from({ length: PLACES }, () => 200));
    await eventually(async () => {
      const { text } = await app.get('/metrics');
      for (const name of ['running', 'waiting']) expect(text).toContain(`http_requests_${name} 0\n`);
    });
  });

  it('get the memory of clients that do not read their answers', async () => {
    const stalled: ClientRequest[] = [];
    let begun = 0;
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      const headers = { 'X-Forwarded-For': address };
      for (let i = 0; i < READERS; i++) {
        const reader = request(`${app.url}/posts/api?limit=100`, { headers }).end();
        // With a listener that does not read it; without one, it would be thrown away.
        reader.on('error', () => undefined).on('response', () => (begun += 1));
        stalled.push(reader);
      }
    }
    await eventually(() => expect(begun).toBeGreaterThanOrEqual(IN_ALL));
    const response = await fetch(`${app.url}/posts/api?limit=100`);
    const { results } = (await response.json()) as { results: object[] };
    expect([response.status, results?.length]).toEqual([200, 100]);
    stalled.forEach((reader) => reader.destroy());
  });
});
