/** @mongodb */
import { bulk, ids, NOWHERE, results, titled } from '../../support/bulk.js';
import { expectInvalid } from '../../support/problems.js';
import { useTestApp } from '../../support/test-app.js';

describe('todos in bulk', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  it('creates, updates and deletes in order, and answers each', async () => {
    const made = await bulk(app, '/todos', [titled('a'), titled('b'), titled('c')]);
    expect(made.status).toBe(200);
    const [a, b, c] = ids(made);
    expect(made.body).toEqual({ results: [a, b, c].map((_id) => ({ status: 201, _id })) });
    const changed = await bulk(app, '/todos', [
      { update: { _id: a, changes: { title: 'A', completed: true } } },
      { update: { _id: a, changes: { completed: null } } },
      { del: { _id: b } },
      { update: { _id: b, changes: { title: 'B' } } },
      { del: { _id: c } },
      titled('d'),
    ]);
    expect(results(changed)).toEqual([200, 200, 200, '404 RECORD_NOT_FOUND', 200, 201]);
    expect(changed.body.results.slice(0, 3)).toEqual([{ status: 200 }, { status: 200 }, { status: 200 }]);
    const { body } = await app.get('/todos');
    expect(body.map(({ title, completed }: Record<string, unknown>) => [title, completed])).toEqual([
      ['d', false],
      ['A', false],
    ]);
  });

  it('stores what a single create stores, in the order of the operations', async () => {
    await app.post('/todos', { title: 'alone' });
    const operations = Array.from({ length: 1_000 }, (_, i) => titled(`todo ${i}`));
    const made = ids(await bulk(app, '/todos', operations));
    expect(new Set(made).size).toBe(1_000);
    expect([...made].sort()).toEqual(made);
    const [alone, ...stored] = await app.database.collection('todos').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ title }) => title as string)).toEqual(
      operations.map(({ create: { title } }) => title),
    );
    expect(Object.keys(stored[0] ?? {})).toEqual(Object.keys(alone ?? {}));
    expect(stored.every(({ __v, completed }) => __v === 0 && completed === false)).toBe(true);
    const times = stored.map(({ createdAt }) => (createdAt as Date).getTime());
    expect([...times].sort((one, other) => one - other)).toEqual(times);
  });

  it('an invalid item is answered like a single request, and undoes nothing', async () => {
    const [id] = ids(await bulk(app, '/todos', [titled('a')]));
    const singles = [
      await app.post('/todos', { title: 7, stray: 1 }),
      await app.post('/todos', 'null'),
      await app.patch('/todos/zz', {}),
      await app.patch(`/todos/${NOWHERE}`, { title: 'x' }),
      await app.patch(`/todos/${id}`, { title: null }),
      await app.patch(`/todos/${id}`, { title: 'x' }, { headers: { 'If-Match': '"7"' } }),
      await app.del(`/todos/${id}`, { headers: { 'If-Match': 'seven' } }),
      await app.del(`/todos/${NOWHERE}`),
    ];
    const many = await bulk(app, '/todos', [
      { create: { title: 7, stray: 1 } },
      { create: null },
      { update: { _id: 'zz', changes: {} } },
      { update: { _id: NOWHERE, changes: { title: 'x' } } },
      { update: { _id: id, changes: { title: null } } },
      { update: { _id: id, changes: { title: 'x' }, ifMatch: '"7"' } },
      { del: { _id: id, ifMatch: 'seven' } },
      { del: { _id: NOWHERE } },
    ]);
    const requestId = many.headers.get('x-request-id');
    expect(many.body.results).toEqual(singles.map(({ body }) => ({ ...body, requestId })));
    expect((await app.get(`/todos/${id}`)).body.title).toBe('a');
  });

  it('ifMatch is checked as If-Match is', async () => {
    const [id] = ids(await bulk(app, '/todos', [titled('a')]));
    const answered = await bulk(app, '/todos', [
      { update: { _id: id, changes: { title: 'b' }, ifMatch: '"0"' } },
      { update: { _id: id, changes: { title: 'c' }, ifMatch: '"0"' } },
      { update: { _id: id, changes: { title: 'd' }, ifMatch: '*' } },
      { del: { _id: id, ifMatch: '"1"' } },
      { del: { _id: id, ifMatch: '"9", "2"' } },
    ]);
    expect(results(answered)).toEqual([200, '412 PRECONDITION_FAILED', 200, '412 PRECONDITION_FAILED', 200]);
  });

  it('the headers of the request do not apply to its items', async () => {
    const [id] = ids(await bulk(app, '/todos', [titled('a')]));
    const body = { operations: [{ update: { _id: id, changes: { title: 'b' } } }, titled('c')] };
    const headers = { Prefer: 'return=representation', 'If-Match': '"7"', 'If-None-Match': '*' };
    const answered = await app.post('/todos/bulk', body, { headers });
    expect(answered.body.results).toEqual([{ status: 200 }, { status: 201, _id: expect.any(String) }]);
  });

  const malformed: [unknown, string][] = [
    [7, ''],
    [[], ''],
    [{}, ''],
    [{ create: { title: 'a' }, del: { _id: NOWHERE } }, ''],
    [{ create: { title: 'a' }, extra: 1 }, '/extra'],
    [{ upsert: {} }, '/upsert'],
    [{ update: 7 }, '/update'],
    [{ update: { changes: {} } }, '/update/_id'],
    [{ update: { _id: NOWHERE } }, '/update/changes'],
    [{ update: { _id: 7, changes: {} } }, '/update/_id'],
    [{ update: { _id: NOWHERE, changes: {}, ifMatch: 3 } }, '/update/ifMatch'],
    [{ update: { _id: NOWHERE, changes: {}, id: 1 } }, '/update/id'],
    [{ del: { _id: NOWHERE, changes: {} } }, '/del/changes'],
    [{ del: null }, '/del'],
  ];
  it.each(malformed)('an operation that is malformed has its own error: %j', async (operation, pointer) => {
    const answered = await bulk(app, '/todos', [titled('a'), operation, titled('b')]);
    expect(results(answered)).toEqual([201, '400 VALIDATION_FAILED', 201]);
    expect(answered.body.results[1]).toMatchObject({ instance: '/todos/bulk', errors: [{ pointer }] });
  });

  it('names that libraries interpret, and excessive nesting, are faults of their operation', async () => {
    const deep = '['.repeat(5_000) + ']'.repeat(5_000);
    const operations = [
      '{"create":{"title":"a"}}',
      '{"create":{"title":"b","__proto__":{"x":1}}}',
      '{"create":{"title":{"constructor":{}}}}',
      `{"create":{"title":${deep}}}`,
      `{"update":{"_id":"${NOWHERE}","changes":{"title":{"_bsontype":"Code"}}}}`,
      deep,
      '{"create":{"constructor":{}}}',
    ];
    const answered = await app.request('POST', '/todos/bulk', {
      body: `{"operations":[${operations.join()}]}`,
    });
    expect(results(answered)).toEqual([
      201,
      ...Array<string>(4).fill('400 MALFORMED_REQUEST'),
      ...Array<string>(2).fill('400 VALIDATION_FAILED'),
    ]);
  });

  it.each([
    [{}],
    [{ operations: [] }],
    [{ operations: {} }],
    [{ operations: Array(1_001).fill(titled('a')) }],
  ])('no operations, too many, or anything but a list is a 400 for the whole request (%#)', async (body) => {
    const answered = await app.post('/todos/bulk', body);
    const detail = '"operations" must be a list of 1 to 1000 operations.';
    expectInvalid(answered, '/todos/bulk', { pointer: '/operations', detail });
    expect((await app.get('/todos/count')).body).toEqual({ count: 0 });
  });

  it('another member beside the operations, another body or a query is a 400 for the whole', async () => {
    const body = { operations: [titled('a')], ordered: true };
    const detail = '"ordered" is not an input field. Allowed: operations, atomic.';
    expectInvalid(await app.post('/todos/bulk', body), '/todos/bulk', { pointer: '/ordered', detail });
    for (const other of [[titled('a')], undefined, '"x"']) {
      const answered = await app.post('/todos/bulk', other);
      expectInvalid(answered, '/todos/bulk', { pointer: '', detail: 'The body must be a JSON object.' });
    }
    expect((await app.post('/todos/bulk?x=1', { operations: [titled('a')] })).status).toBe(400);
    expect((await app.request('POST', '/todos/bulk', { body: '{"operations"' })).status).toBe(400);
  });

  it('the path only accepts POST, and its name is not an id', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE', 'PUT']) {
      const answered = await app.request(method, '/todos/bulk');
      expect([answered.status, answered.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });
});
