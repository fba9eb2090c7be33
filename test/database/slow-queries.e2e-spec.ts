/**
 * @mongodb
 * @slow
 */
import { useProxiedApp } from '../support/proxied-app.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { expectProblem } from '../support/problems.js';
import { type TestApp, useTestApp } from '../support/test-app.js';

/** Asserts that a query is too slow, and that what is no query has nothing to narrow. */
async function expectTooSlow(app: TestApp, path: string): Promise<void> {
  const response = await app.get(path);
  const detail = 'This query takes the database too long. Narrow its filter, or try again later.';
  const [instance = ''] = path.split('?');
  // Not DEADLINE_EXCEEDED: the limit of the database ends it before the request's own deadline.
  expectProblem(response, { status: 503, code: 'QUERY_TOO_SLOW', detail, instance });
  expect(response.headers.get('retry-after')).toBe('5');
  const one = await app.get('/todos/665f1c2ab7e3a90d4c8b4567');
  expect(one.body).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
}

describe('a query that the database gives up on', () => {
  const uri = new URL(freshDatabaseUri());
  uri.searchParams.set('appName', uri.pathname.slice(1));
  const app = useTestApp({ env: { MONGODB_URI: uri.href } });
  beforeAll(async () => void (await app.post('/todos', { title: 'Before' })));

  /** Has a MongoDB with test commands (`--setParameter enableTestCommands=1`) fail the service's reads; false for another. */
  async function failReads(mode: 'alwaysOn' | 'off'): Promise<boolean> {
    const failCommands = ['find', 'aggregate', 'count'];
    const data = { failCommands, errorCode: 50, appName: uri.pathname.slice(1) };
    const admin = app.database.client.db('admin');
    return admin.command({ configureFailPoint: 'failCommand', mode, data }).then(
      () => true,
      () => false,
    );
  }

  it.each(['/todos', '/todos?limit=5', '/todos?limit=5&count=none', '/todos/count'])(
    'GET %s',
    async (path) => {
      // The client that looks behind the service has the same name; it reads nothing meanwhile.
      if (!(await failReads('alwaysOn'))) return;
      try {
        await expectTooSlow(app, path);
        expect((await app.get('/health/ready')).status).toBe(200);
      } finally {
        await failReads('off');
      }
    },
  );
});

describe('an unanswered query to a database that can be reached', () => {
  const app = useProxiedApp();
  beforeAll(async () => {
    await app.post('/todos', { title: 'Before' });
    app.proxy.swallow(Buffer.from('\0todos\0'));
  });

  it.each(['/todos', '/todos?limit=5', '/todos/count', '/todos?completed=true'])('GET %s', (path) =>
    expectTooSlow(app, path),
  );
});
