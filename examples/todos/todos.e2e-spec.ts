import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, tokenOf } from '../../test/support/tenants.js';
import { KEPT, postWhole } from '../../test/support/whole-records.js';
import { TodosModule } from './todos.module.js';

const [ada, bob] = await Promise.all([tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })]);

describe('the todos of one person', () => {
  const app = useResourceApp(TodosModule);
  beforeEach(() => app.empty());

  it('are created, read, changed and deleted by that person', async () => {
    const due = '2026-12-24T18:00:00.000Z';
    const { status, body } = await postWhole(app, '/todos', { title: 'Water the plants', due }, ada);
    expect(status).toBe(201);
    expect(body).toEqual({ ...KEPT, title: 'Water the plants', done: false, due, owner: 'ada' });
    const path = `/todos/${body._id}`;
    expect((await app.patch(path, { done: true, due: null }, { token: ada })).body).toEqual({
      updated: true,
    });
    const { due: _due, ...rest } = body;
    const changed = { ...rest, done: true, updatedAt: KEPT.updatedAt };
    expect((await app.get(path, { token: ada })).body).toEqual(changed);
    expect((await app.get('/todos?limit=1', { token: ada })).body).toEqual({
      results: [changed],
      count: 1,
      next: null,
      prev: null,
    });
    expect((await app.del(path, { token: ada })).body).toEqual({ deleted: true });
    expectNotFound(await app.get(path, { token: ada }), path, 'Todo');
  });

  it('are there for nobody else', async () => {
    const path = `/todos/${(await app.post('/todos', { title: 'Secret' }, { token: ada })).body._id}`;
    expectNotFound(await app.get(path, { token: bob }), path, 'Todo');
    expectNotFound(await app.patch(path, { title: 'Mine' }, { token: bob }), path, 'Todo');
    expectNotFound(await app.del(path, { token: bob }), path, 'Todo');
    expect((await app.get('/todos', { token: bob })).body).toEqual([]);
    expect((await app.get('/todos/count', { token: bob })).body).toEqual({ count: 0 });
    expect((await app.get(path, { token: ada })).body.title).toBe('Secret');
  });

  it('need a token with a subject', async () => {
    const bare = await tokenOf(ACME);
    for (const path of ['/todos', '/todos/count', `/todos/${ACME}`]) {
      expectUnauthenticated(await app.get(path), path);
      expectProblem(await app.get(path, { token: bare }), {
        status: 403,
        code: 'CLAIM_REQUIRED',
        detail: 'The token must carry the claim "sub", with a value of the right type.',
        instance: path,
      });
    }
  });

  it('refuse what does not fit', async () => {
    expectInvalid(
      await app.post('/todos', { owner: 'bob', done: 'yes', due: 'tomorrow' }, { token: ada }),
      '/todos',
      { pointer: '/owner', detail: '"owner" is not an input field. Allowed: title, done, due.' },
      { pointer: '/title', detail: '"title" must be a string of 1 to 200 characters.' },
      { pointer: '/done', detail: '"done" must be true or false.' },
      {
        pointer: '/due',
        detail:
          '"due" must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.',
      },
    );
  });
});
