/** @mongodb only */
import { errorMessages } from '../../src/common/errors/index.js';
import { useProxiedApp } from '../support/proxied-app.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { eventually } from '../support/eventually.js';
import { expectProblem } from '../support/problems.js';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.js';
import { acme } from '../support/tenants.js';
import { createTestApp, type TestResponse } from '../support/test-app.js';

/** More than the driver's pool has connections. */
const CROWD = 150;
const ID = '665f1c2ab7e3a90d4c8b4567';

const UNAVAILABLE = {
  code: 'DATABASE_UNAVAILABLE',
  detail: 'The database cannot be reached or is too slow. Try again later.',
};
/** Pages share memory, too: some wait for that behind those that wait for the database. */
const OF_PAGES = [
  UNAVAILABLE,
  { code: 'OVERLOADED', detail: errorMessages.overloaded },
  { code: 'DEADLINE_EXCEEDED', detail: errorMessages.deadlineExceeded },
];

/** Asserts one of some 503s; that of the database comes before the request's own deadline, which is DEADLINE_EXCEEDED. */
function expectUnavailable(response: TestResponse, instance: string, problems = [UNAVAILABLE]): void {
  const problem = problems.find(({ code }) => code === response.body.code) ?? UNAVAILABLE;
  expectProblem(response, { status: 503, instance, ...problem });
  expect(response.headers.get('retry-after')).toBe('5');
}

describe.each(['generated', 'handwritten'])('while the database fails, todos %s', (form) => {
  // Enough for the crowd: what waits for its turn is another matter.
  const app = useProxiedApp({ env: { TODOS_API: form, MAX_RUNNING_REQUESTS: '2000' } });
  beforeEach(async () => {
    await eventually(async () => expect((await app.get('/health/ready')).status).toBe(200));
    await app.empty();
  });

  /** One request of every kind that asks the database. */
  const everyRequest: [method: string, path: string, body?: object][] = [
    ['GET', '/todos'],
    ['GET', '/todos?limit=5'],
    ['POST', '/todos', { title: 'Water the plants' }],
    ['GET', `/todos/${ID}`],
    ['PATCH', `/todos/${ID}`, { title: 'Water the plants' }],
    ['PATCH', `/todos/${ID}`, {}],
    ['DELETE', `/todos/${ID}`],
    ['GET', '/posts/api'],
    ['GET', '/posts/api/count'],
    ['POST', '/posts/api', { title: 'Water the plants' }],
    ['PATCH', `/posts/api/${ID}`, { title: 'Water the plants' }],
    ['DELETE', `/posts/api/${ID}`],
    ['GET', '/health/ready'],
  ];

  describe.each<ProxyMode>(['hang', 'refuse'])('in the way "%s"', (mode) => {
    it('every request is answered with 503', async () => {
      await app.proxy.turn(mode);
      const answers = everyRequest.map(async ([method, path, body]) => {
        const token = method !== 'GET' && path.startsWith('/posts') ? acme : undefined;
        expectUnavailable(await app.request(method, path, { body, token }), path.replace(/\?.*/, ''));
      });
      await Promise.all(answers);
    });

    it('a crowd larger than the pool is answered with 503', async () => {
      await app.proxy.turn(mode);
      const answers = await Promise.all(Array.from({ length: CROWD }, () => app.get(`/todos/${ID}`)));
      for (const answer of answers) expectUnavailable(answer, `/todos/${ID}`);
    });

    it('requests in flight are answered with 503', async () => {
      const running = Array.from({ length: CROWD }, () => app.get('/todos?limit=100'));
      await Promise.race(running);
      await app.proxy.turn(mode);
      const answers = await Promise.all(running);
      for (const answer of answers.filter(({ status }) => status !== 200))
        expectUnavailable(answer, '/todos', OF_PAGES);
      expectUnavailable(await app.get('/todos?limit=100'), '/todos');
    });

    it('the process stays alive, is not ready, and serves again by itself when the database is back', async () => {
      const id = await app.create('/todos', { title: 'Before' });
      await app.proxy.turn(mode);
      expect(await app.get('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
      expectUnavailable(await app.get('/health/ready'), '/health/ready');
      await app.proxy.turn('pass');
      await eventually(async () => expect((await app.get('/health/ready')).status).toBe(200));
      expect((await app.get(`/todos/${id}`)).body).toMatchObject({ title: 'Before' });
      expect((await app.post('/todos', { title: 'After' })).status).toBe(201);
    });
  });

  it('a break of every connection ends as soon as it has been noticed', async () => {
    const path = `/todos/${await app.create('/todos', { title: 'Before' })}`;
    app.proxy.drop();
    for (let i = 0; i < 2; i++) expect([200, 503]).toContain((await app.get(path)).status);
    await eventually(async () => expect((await app.get(path)).status).toBe(200));
  });
});

it.each<ProxyMode>(['hang', 'refuse'])(
  'a service that starts while the database is in the way "%s" runs without being ready, and serves by itself later',
  async (mode) => {
    const uri = freshDatabaseUri();
    const proxy = await TcpProxy.before(uri, mode);
    const app = await createTestApp({ env: { MONGODB_URI: proxy.through(uri) } });
    expect((await app.get('/health/live')).body).toEqual({ status: 'ok' });
    expectUnavailable(await app.get('/health/ready'), '/health/ready');
    expectUnavailable(await app.get('/todos'), '/todos');
    expectUnavailable(await app.post('/todos', { title: 'Too early' }), '/todos');
    await proxy.turn('pass');
    await eventually(async () => expect((await app.get('/health/ready')).status).toBe(200));
    await app.create('/todos', { title: 'In time' });
    expect((await app.get('/todos')).body).toEqual([expect.objectContaining({ title: 'In time' })]);
    await app.close();
    await proxy.close();
  },
);
