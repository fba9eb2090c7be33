import { UseGuards, UseInterceptors } from '@nestjs/common';
import { tap } from 'rxjs';
import { CrudController, CrudModule, type ListQuery } from '../../../src/common/crud/index.js';
import { IsDecimal } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { guardBy } from '../../support/guarded-app.js';
import { each } from '../../support/records.js';
import { feature, OF_TENANT, resource } from '../../support/resource.js';
import { acme, ACME, globex } from '../../support/tenants.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';

const OnlyChief = guardBy((context) => {
  const { headers } = context.switchToHttp().getRequest<{ headers: object }>();
  return 'x-chief' in headers;
});

const guards = [OnlyChief];
const intercepted: string[] = [];
const own = resource({ name: 'own', ...OF_TENANT });
class OwnController extends CrudController(own) {
  @UseGuards(OnlyChief)
  @UseInterceptors({ intercept: (_context, next) => next.handle().pipe(tap(() => intercepted.push('list'))) })
  override list(scope: TenantScope, query: ListQuery) {
    return super.list(scope, query);
  }
}
const imports = [
  CrudModule.forFeature(own, { controller: OwnController }),
  feature({ name: 'listed', ...OF_TENANT, routes: { list: { guards } } }),
  feature({ name: 'got', ...OF_TENANT, routes: { get: { guards } } }),
  feature({ name: 'closed', ...OF_TENANT, disable: ['get'] }),
  feature({ name: 'wares', fields: { price: IsDecimal({ scale: 2 }) }, query: { filter: ['price'] } }),
];

const app = useTestApp({ root: serviceWith({ imports }) });

/** Both ways to send a query in a body. */
const WAYS = [
  ['QUERY', ''],
  ['POST', '/query'],
] as const;

const ask = (path: string, body: unknown, more = {}) => app.post(`${path}/query`, body, more);

describe('queries in bodies', () => {
  let todos: string[];

  beforeAll(async () => {
    todos = [
      await app.create('/todos', { title: 'green tea', completed: true }),
      await app.create('/todos', { title: 'black tea' }),
      await app.create('/todos', { title: 'coffee', completed: true }),
      await app.create('/todos', { title: 'water', dueAt: '2026-12-01T00:00:00+02:00' }),
    ];
    const post = (token: string) => app.create('/posts/api', { title: 'post' }, token);
    const [archived] = [await post(acme), await post(acme), await post(globex)];
    await app.del(`/posts/api/${archived}`, { token: acme });
  });

  it.each(WAYS)('%s %s answers as the list does', async (method, path) => {
    const ndjson = { Accept: 'application/x-ndjson' };
    for (const [body, query, headers] of [
      [{}, ''],
      [{ fields: ['title', 'completed'], sort: ['title'] }, 'fields=title,completed&sort=title'],
      [{ where: { title: 'coffee' } }, 'title=coffee', ndjson],
    ] as [object, string, Record<string, string>?][]) {
      const answer = await app.request(method, `/todos${path}`, { body, headers });
      const listed = await app.get(`/todos?${query}`, { headers });
      expect([query, answer.status, answer.text]).toEqual([query, 200, listed.text]);
      expect(answer.headers.get('content-type')).toBe(listed.headers.get('content-type'));
    }
    const body = { sort: ['completed', 'dueAt'], q: 'tea -black', count: 'none', offset: 0 };
    const { body: page } = await app.request(method, `/todos${path}`, { body });
    const listed = await app.get('/todos?sort=completed,dueAt&q=tea+-black&count=none&offset=0');
    expect(page).toEqual({ ...listed.body, next: null, prev: null });
  });

  // What single conditions select is a matter of the random queries.
  it.each<[object, number[]]>([
    [{ completed: true, not: { title: 'coffee' } }, [0]],
    [{ dueAt: { lt: '2026-12-01T00:00:00Z', exists: true } }, [3]],
    [{ and: [{}, { not: {} }] }, []],
  ])('%j means every one of its members', async (where, expected) => {
    const { body } = await ask('/todos', { where, sort: ['createdAt'] });
    expect(each(body, '_id')).toEqual(expected.map((i) => todos[i]));
  });

  const deep = (levels: number): object => (levels === 0 ? { title: 'a' } : { not: deep(levels - 1) });
  const wide = (count: number) => ({ and: [1, 2, 3].map(() => ({ or: Array(count).fill({ title: 'a' }) })) });
  const saying = (part: string) => expect.stringContaining(part) as string;
  const IN_BOUNDS = '"in" must be a list of 1 to 500 values.';
  const FIELDS =
    '"titel" is not a field of the records here. Allowed: _id, title, completed, dueAt, createdAt, updatedAt, and, or, not.';
  const OPERATORS = '"title" has no operator "gt". Allowed: eq, ne, in, nin, exists, contains, startsWith.';
  const CONTAINS = '"contains" must be a text of at most 1000 characters.';
  const MEMBERS =
    '"were" is not an input field. Allowed: where, offset, limit, after, before, count, sort, fields, q.';
  const expectFault = async (sent: unknown, pointer: string, detail: string) => {
    const { status, body } = await ask('/todos', sent);
    expect([status, body.errors]).toEqual([400, [{ pointer, detail }]]);
  };

  it.each<[object, string, string]>([
    [[], '', '"where" must be an object of conditions.'],
    [{ or: [{ title: 'a' }, { titel: 'a' }] }, '/or/1/titel', FIELDS],
    [{ completed: 'true' }, '/completed', '"completed" must be true or false.'],
    [{ title: 5 }, '/title', '"title" must be a text.'],
    [{ title: { gt: 'a' } }, '/title/gt', OPERATORS],
    [{ title: { $ne: 'a' } }, '/title/$ne', saying('no operator "$ne"')],
    [{ $where: '1' }, '/$where', saying('is not a field')],
    [{ title: {} }, '/title', saying('an object of eq, ne')],
    [{ title: { contains: null } }, '/title/contains', CONTAINS],
    [{ title: { exists: 1 } }, '/title/exists', '"exists" must be true or false.'],
    [{ title: { in: 'a' } }, '/title/in', IN_BOUNDS],
    [{ title: { in: Array(501).fill('a') } }, '/title/in', IN_BOUNDS],
    [{ createdAt: { gt: null } }, '/createdAt/gt', saying('such as 2026-12-31T12:00:00Z.')],
    [{ or: [] }, '/or', '"or" must be a list of 1 to 20 objects of conditions.'],
    [{ and: Array(21).fill({}) }, '/and', '"and" must be a list of 1 to 20 objects of conditions.'],
    [deep(6), '/not'.repeat(6), '"where" has at most 5 levels of and, or and not. Leave some out.'],
    [wide(17), '/and/2/or/16/title', 'A query has at most 50 conditions. Leave some out.'],
  ])('rejects a fault of the conditions at its place (case %#)', async (where, pointer, detail) => {
    await expectFault({ where }, `/where${pointer}`, detail);
  });

  it.each<[unknown, string, string]>([
    [[], '', 'The body must be a JSON object.'],
    [{ were: {} }, '/were', MEMBERS],
    [{ limit: '5' }, '/limit', '"limit" must be a whole number.'],
    [{ limit: 101 }, '/limit', saying('from 1 to 100')],
    [{ sort: 'title' }, '/sort', '"sort" must be a list of one or more names.'],
    [{ sort: ['completed,dueAt'] }, '/sort', '"sort" must be a list of one or more names.'],
    [{ sort: ['dueAt', 'title'] }, '/sort', saying('is not an order here')],
    [{ fields: ['titel'] }, '/fields', saying('"titel" is not a field')],
    [{ q: ['tea'] }, '/q', '"q" must be a text.'],
    [{ limit: 1, offset: 0, after: 'x' }, '/after', '"after" cannot be combined with "offset".'],
    [{ limit: 1, after: 'x' }, '/after', saying('is not a cursor of this list')],
  ])('rejects another fault at its place (case %#)', expectFault);

  it('says that a decimal number is written in quotes', async () => {
    const { body } = await ask('/wares', { where: { price: 10, or: [{ price: { in: ['10', 'ten'] } }] } });
    expect(each(body.errors, 'detail')).toEqual([
      '"price" must be a number in quotes.',
      saying('each a number in quotes.'),
    ]);
  });

  it.each([deep(5), wide(16)])('takes the largest tree (case %#)', async (where) => {
    expect((await ask('/todos', { where })).status).toBe(200);
  });

  it('has pages with cursors of its own, and no links', async () => {
    const where = { or: [{ title: { contains: 'tea' } }, { title: 'water' }], completed: false };
    const first = await ask('/todos', { where, limit: 1, sort: ['title'] });
    expect(first.headers.get('link')).toBeNull();
    const same = { completed: where.completed, or: where.or };
    const second = await ask('/todos', { where: same, limit: 1, sort: ['title'], after: first.body.next });
    const found = [first, second].flatMap(({ body }) => each(body.results, 'title'));
    expect(found).toEqual(['black tea', 'water']);
    expect([first.body.count, second.body.next]).toEqual([2, null]);
    const plain = await app.get('/todos?limit=1');
    const exchanged = await ask('/todos', { limit: 1, after: plain.body.next });
    const ofBody = await ask('/todos', { limit: 1 });
    const back = await app.get(`/todos?limit=1&after=${ofBody.body.next as string}`);
    expect([exchanged.status, back.status]).toEqual([400, 400]);
  });

  it('tells clients of itself', async () => {
    const options = await app.request('OPTIONS', '/todos');
    expect(options.status).toBe(204);
    expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST, QUERY');
    expect(options.headers.get('accept-query')).toBe('"application/json"');
    expect((await app.get('/todos')).headers.get('accept-query')).toBe('"application/json"');
    expect((await app.request('PUT', '/todos')).headers.get('allow')).toBe('GET, HEAD, POST, QUERY');
    expect((await app.request('OPTIONS', '/todos/query')).headers.get('accept-query')).toBeNull();
  });

  it('takes JSON alone, no parameters of the URL, and no key', async () => {
    const patch = { 'Content-Type': 'application/merge-patch+json' };
    expect((await ask('/todos', {}, { headers: patch })).status).toBe(415);
    expect((await app.request('QUERY', '/todos?limit=1', { body: {} })).body.errors).toEqual([
      { parameter: 'limit', detail: '"limit" is not a parameter here; this path takes none.' },
    ]);
    const headers = { 'Idempotency-Key': 'a query' };
    await ask('/todos', { limit: 1 }, { headers });
    const again = await ask('/todos', { limit: 2 }, { headers });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null]);
  });

  it('shows archived records to their tenant alone', async () => {
    const body = { archived: 'only' };
    expect((await ask('/posts/api', body)).status).toBe(401);
    expect((await ask('/posts/api', body, { token: globex })).body).toEqual([]);
    expect((await ask('/posts/api', body, { token: acme })).body).toMatchObject([{ tenant: ACME }]);
    expect((await ask('/posts/api', {})).body).toHaveLength(2);
    const where = { deletedAt: { exists: true } };
    expect((await ask('/posts/api', { where })).body.errors).toMatchObject([{ pointer: '/where/deletedAt' }]);
    expect((await ask('/posts/api', { where, archived: 'include' }, { token: acme })).body).toHaveLength(1);
  });
});

it.each(WAYS)('%s %s have the guards of the list, and are off where it is', async (method, path) => {
  const chief = { 'X-Chief': 'yes' };
  const send = (name: string, token?: string, headers = {}) =>
    app.request(method, `/${name}${path}`, { body: {}, token, headers });
  for (const name of ['own', 'listed', 'got']) {
    await app.post(`/${name}`, { text: 'a' }, { token: acme, headers: chief });
    expect([name, (await send(name, undefined, chief)).status]).toEqual([name, 401]);
    expect([name, (await send(name, acme)).status]).toEqual([name, 403]);
    const { body } = await send(name, acme, chief);
    expect(body).toContainEqual(expect.objectContaining({ text: 'a', tenant: ACME }));
  }
  expect((await send('listed', globex, chief)).body).toEqual([]);
  expect(intercepted.splice(0)).toEqual(['list']);
  expect((await send('closed', acme)).status).toBe(405);
});
