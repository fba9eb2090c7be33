/** @mongodb */
import { CrudModule, schemaOf } from '../../../src/index.js';
import { bulk, create, ids, NoteInput, NOWHERE, results, titled } from '../../support/bulk.js';
import { expectInvalid } from '../../support/problems.js';
import { Random } from '../../support/random.js';
import { each, storedIn } from '../../support/records.js';
import { resource } from '../../support/resource.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';

const SEED = Number(process.env.SEED ?? 20_261_121);

const tags = resource({ name: 'tags', fields: NoteInput, bulk: true });
tags.schema = schemaOf(tags.entity).index({ sku: 1 }, { unique: true, sparse: true });

const app = useTestApp({ root: serviceWith({ imports: [CrudModule.forFeature(tags)] }) });
beforeEach(() => app.empty());

const createdTodos = async (...titles: string[]) => ids(await bulk(app, '/todos', titles.map(titled)));
const update = (_id: unknown, changes: object, ifMatch?: string) => ({ update: { _id, changes, ifMatch } });

describe('todos in bulk', () => {
  it('have the results of single requests, in their order', async () => {
    const random = new Random(SEED);
    for (let round = 0; round < 3; round++) {
      await app.empty();
      const mine = await createdTodos('x', 'x', 'x', 'x');
      const theirs = await createdTodos('x', 'x', 'x', 'x');
      const operations = Array.from({ length: 40 }, () => ({
        kind: random.pick(['create', 'update', 'del'] as const),
        at: random.below(5),
        ifMatch: random.pick([undefined, undefined, '"0"', '"7"', '*', 'bad', '"9", "0"']),
        values: random.pick([
          ...[{ title: 'a' }, { title: 'b' }, { completed: true }, { completed: false }, { completed: null }],
          ...[{ title: 7 }, {}, { description: null }],
        ]),
      }));
      const sent = operations.map(({ kind, at, ifMatch, values }) => {
        const _id = mine[at] ?? NOWHERE;
        if (kind === 'create') return { create: values };
        return kind === 'update' ? update(_id, values, ifMatch) : { del: { _id, ifMatch } };
      });
      const answered = await bulk(app, '/todos', sent);
      const singles: unknown[] = [];
      for (const { kind, at, ifMatch, values } of operations) {
        const one = `/todos/${theirs[at] ?? NOWHERE}`;
        const request = { headers: ifMatch === undefined ? undefined : { 'If-Match': ifMatch } };
        const send = {
          create: () => app.post('/todos', values),
          update: () => app.patch(one, values, request),
          del: () => app.del(one, request),
        };
        const { status, body } = await send[kind]();
        singles.push(status < 400 ? status : `${status} ${body.code}`);
      }
      expect([SEED, round, results(answered)]).toEqual([SEED, round, singles]);
      const all = (await storedIn(app, 'todos')).map(
        ({ _id, createdAt: _c, updatedAt: _u, __v, ...rest }) => {
          return { ...rest, isRevised: __v !== 0, id: String(_id) };
        },
      );
      const stateOf = (own: string[]) => own.map((one) => ({ ...all.find(({ id }) => id === one), id: 0 }));
      expect([SEED, round, stateOf(mine)]).toEqual([SEED, round, stateOf(theirs)]);
    }
  });

  it('stores what a single create stores, in the order of the operations', async () => {
    await app.post('/todos', { title: 'alone' });
    const titles = Array.from({ length: 1_000 }, (_, i) => `todo ${i}`);
    const made = await createdTodos(...titles);
    expect(new Set(made).size).toBe(1_000);
    expect([...made].sort()).toEqual(made);
    const [alone, ...stored] = await storedIn(app, 'todos');
    expect(each(stored, 'title')).toEqual(titles);
    expect(Object.keys(stored[0] ?? {})).toEqual(Object.keys(alone ?? {}));
    expect(stored.every(({ __v, completed }) => __v === 0 && completed === false)).toBe(true);
    const times = stored.map(({ createdAt }) => (createdAt as Date).getTime());
    expect([...times].sort((one, other) => one - other)).toEqual(times);
  });

  it('an invalid item is answered like a single request, and undoes nothing', async () => {
    const [id] = await createdTodos('a');
    const [one, nowhere, headers] = [`/todos/${id}`, `/todos/${NOWHERE}`, { 'If-Match': '"7"' }];
    const faults = [
      [{ create: { title: 7, stray: 1 } }, await app.post('/todos', { title: 7, stray: 1 })],
      [{ create: null }, await app.post('/todos', 'null')],
      [update('zz', {}), await app.patch('/todos/zz', {})],
      [update(NOWHERE, { title: 'x' }), await app.patch(nowhere, { title: 'x' })],
      [update(id, { title: null }), await app.patch(one, { title: null })],
      [update(id, { title: 'x' }, '"7"'), await app.patch(one, { title: 'x' }, { headers })],
      [{ del: { _id: id, ifMatch: 'x' } }, await app.del(one, { headers: { 'If-Match': 'x' } })],
      [{ del: { _id: NOWHERE } }, await app.del(nowhere)],
    ] as const;
    const operations = faults.map(([operation]) => operation);
    const many = await bulk(app, '/todos', operations);
    const requestId = many.headers.get('x-request-id');
    expect(many.body.results).toEqual(faults.map(([, { body }]) => ({ ...body, requestId })));
    expect((await app.get(one)).body.title).toBe('a');
  });

  it('the headers of the request do not apply to its items', async () => {
    const [id] = await createdTodos('a');
    const operations = [update(id, { title: 'b' }), titled('c'), { del: { _id: id } }];
    const headers = { Prefer: 'return=representation', 'If-Match': '"7"', 'If-None-Match': '*' };
    const answered = await app.post('/todos/bulk', { operations }, { headers });
    const expected = [{ status: 200 }, { status: 201, _id: expect.any(String) }, { status: 200 }];
    expect([answered.status, answered.body]).toEqual([200, { results: expected }]);
  });

  it.each<[operation: unknown, pointer: string]>([
    [7, ''],
    [{}, ''],
    [{ create: { title: 'a' }, del: { _id: NOWHERE } }, ''],
    [{ create: { title: 'a' }, extra: 1 }, '/extra'],
    [{ upsert: {} }, '/upsert'],
    [{ update: 7 }, '/update'],
    [{ update: { changes: {} } }, '/update/_id'],
    [{ update: { _id: NOWHERE } }, '/update/changes'],
    [{ update: { _id: 7, changes: {} } }, '/update/_id'],
    [{ update: { _id: NOWHERE, changes: {}, ifMatch: 3 } }, '/update/ifMatch'],
    [{ del: { _id: NOWHERE, changes: {} } }, '/del/changes'],
  ])('an operation that is malformed has its own error: %j', async (operation, pointer) => {
    const answered = await bulk(app, '/todos', [titled('a'), operation, titled('b')]);
    expect(results(answered)).toEqual([201, '400 VALIDATION_FAILED', 201]);
    expect(answered.body.results[1]).toMatchObject({ instance: '/todos/bulk', errors: [{ pointer }] });
  });

  const deep = '['.repeat(5_000) + ']'.repeat(5_000);
  it.each([
    ['{"create":{"title":"b","__proto__":{"x":1}}}', '400 MALFORMED_REQUEST'],
    ['{"create":{"title":{"constructor":{}}}}', '400 MALFORMED_REQUEST'],
    [`{"create":{"title":${deep}}}`, '400 MALFORMED_REQUEST'],
    [`{"update":{"_id":"${NOWHERE}","changes":{"title":{"_bsontype":"Code"}}}}`, '400 MALFORMED_REQUEST'],
    [deep, '400 VALIDATION_FAILED'],
    ['{"create":{"constructor":{}}}', '400 VALIDATION_FAILED'],
  ])('harmful names and excessive nesting are faults of their operation: %.70s', async (operation, fault) => {
    const body = `{"operations":[{"create":{"title":"a"}},${operation}]}`;
    expect(results(await app.request('POST', '/todos/bulk', { body }))).toEqual([201, fault]);
  });

  const COUNT = '"operations" must be a list of 1 to 1000 operations.';
  const MEMBER = '"ordered" is not an input field. Allowed: operations, atomic.';
  const OBJECT = 'The body must be a JSON object.';
  it.each([
    [{}, '/operations', COUNT],
    [{ operations: [] }, '/operations', COUNT],
    [{ operations: Array(1_001).fill(titled('a')) }, '/operations', COUNT],
    [{ operations: [titled('a')], ordered: true }, '/ordered', MEMBER],
    [{ operations: [titled('a')], atomic: 'yes' }, '/atomic', '"atomic" must be true or false.'],
    [[titled('a')], '', OBJECT],
    [undefined, '', OBJECT],
  ])('a fault around the operations is a 400 for the whole request (%#)', async (body, pointer, detail) => {
    expectInvalid(await app.post('/todos/bulk', body), '/todos/bulk', { pointer, detail });
    expect((await app.get('/todos/count')).body).toEqual({ count: 0 });
  });

  it('a query and a body cut short are refused', async () => {
    expect((await app.post('/todos/bulk?x=1', { operations: [titled('a')] })).status).toBe(400);
    expect((await app.request('POST', '/todos/bulk', { body: '{"operations"' })).status).toBe(400);
  });
});

describe('operations on a unique value', () => {
  it('store the first of several creates with it, and all others', async () => {
    const skus = Array.from({ length: 300 }, (_, i) => (i % 10 === 5 ? 'taken' : `sku ${i}`));
    const expected = skus.map((sku, i) => (sku === 'taken' && i !== 5 ? '409 DUPLICATE_VALUE' : 201));
    const operations = skus.map((sku, i) => create(`note ${i}`, sku));
    const answered = await bulk(app, '/tags', operations);
    expect(results(answered)).toEqual(expected);
    const detail = 'A record with the same sku exists. Choose another value.';
    expect(answered.body.results[295].detail).toBe(detail);
    const kept = skus.map((_, i) => `note ${i}`).filter((_, i) => expected[i] === 201);
    expect(each(await storedIn(app, 'tags'), 'text')).toEqual(kept);
  });

  it('can take it once another one has released it', async () => {
    const [a, b] = ids(await bulk(app, '/tags', [create('a', 'one'), create('b', 'two')]));
    const answered = await bulk(app, '/tags', [
      ...[update(b, { sku: 'one' }), update(a, { sku: 'three' }), update(b, { sku: 'one' })],
      ...[create('c', 'two'), { del: { _id: a } }, create('d', 'three')],
    ]);
    expect(results(answered)).toEqual(['409 DUPLICATE_VALUE', 200, 200, 201, 200, 201]);
  });
});

it('short requests are answered between the runs of bulk requests that came before them', async () => {
  const LONG = 48;
  const operations = Array<number>(1_000).fill(1);
  const long = () => app.post('/todos/bulk', { operations });
  const short = () => app.get('/todos/count');
  // Connections and compiled code, so that it is not the first requests that count.
  await Promise.all([long(), short()]);
  let [left, between] = [LONG, 0];
  const all = Array.from({ length: LONG }, () => long().finally(() => (left -= 1)));
  while (left > 0) {
    await short();
    between += 1;
  }
  await Promise.all(all);
  // Without the pauses between runs it is a third.
  expect(between).toBeGreaterThan(LONG / 2);
});
