import {
  CanActivate,
  ExecutionContext,
  UseGuards,
  UseInterceptors,
  type NestInterceptor,
} from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { map } from 'rxjs';
import { CrudController, CrudModule, crudOptions, type ListQuery } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { currentTenant, type TenantScope } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { acme, ACME, globex } from '../../support/tenants.js';
import { type TestApp, useApp, useTestApp } from '../../support/test-app.js';

/** Both ways to send a query in a body. */
const WAYS = [
  ['QUERY', ''],
  ['POST', '/query'],
] as const;

const ask = (app: TestApp, path: string, body: unknown, more = {}) =>
  app.request('POST', `${path}/query`, { body, ...more });

describe('queries in bodies', () => {
  const app = useTestApp();
  const titles = ['green tea', 'black tea', 'coffee', 'water'];
  let created: string[];

  beforeAll(async () => {
    created = [];
    for (const [i, title] of titles.entries()) {
      const todo = { title, completed: i % 2 === 0, ...(i === 3 && { dueAt: '2026-12-01T00:00:00+02:00' }) };
      created.push((await app.post('/todos', todo)).body._id as string);
    }
    const ids = [];
    for (const token of [acme, acme, globex]) {
      ids.push((await app.post('/posts/api', { title: 'post' }, { token })).body._id as string);
    }
    await app.del(`/posts/api/${ids[0]}`, { token: acme });
  });

  it.each(WAYS)('%s %s answers as the list does', async (method, path) => {
    const send = async (body: object, headers = {}) =>
      (await app.request(method, `/todos${path}`, { body, headers })).body as unknown;
    expect(await send({})).toEqual((await app.get('/todos')).body);
    expect(await send({ fields: ['title', 'completed'], sort: ['title'] })).toEqual(
      (await app.get('/todos?fields=title,completed&sort=title')).body,
    );
    expect(await send({ sort: ['completed', 'dueAt'], q: 'tea -black', count: 'none', offset: 0 })).toEqual({
      ...(await app.get('/todos?sort=completed,dueAt&q=tea+-black&count=none&offset=0')).body,
      next: null,
      prev: null,
    });
    const lines = await app.request(method, `/todos${path}`, {
      body: { where: { title: 'coffee' } },
      headers: { Accept: 'application/x-ndjson' },
    });
    expect(lines.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(lines.text).toBe(
      (await app.get('/todos?title=coffee', { headers: { Accept: 'application/x-ndjson' } })).text,
    );
  });

  it.each<[object, number[]]>([
    [{ title: 'coffee' }, [2]],
    [{ or: [{ title: 'coffee' }, { title: { startsWith: 'GREEN' } }] }, [0, 2]],
    [{ not: { or: [{ title: { contains: 'tea' } }, { completed: false }] } }, [2]],
    [{ completed: true, not: { title: 'coffee' } }, [0]],
    [{ dueAt: null }, [0, 1, 2]],
    [{ dueAt: { ne: null } }, [3]],
    [{ dueAt: { in: [null, '2026-11-30T22:00:00Z'] } }, [0, 1, 2, 3]],
    [{ dueAt: { lt: '2026-12-01T00:00:00Z', exists: true } }, [3]],
    [{ and: [{}, { not: {} }] }, []],
  ])('%j selects what it says', async (where, expected) => {
    const { body } = await ask(app, '/todos', { where, sort: ['createdAt'] });
    const ids = (body as unknown as { _id: string }[]).map(({ _id }) => created.indexOf(_id));
    expect(ids).toEqual(expected);
  });

  const deep = (levels: number): object => (levels === 0 ? { title: 'a' } : { not: deep(levels - 1) });
  const wide = (count: number) => ({ and: [1, 2, 3].map(() => ({ or: Array(count).fill({ title: 'a' }) })) });
  it.each<[unknown, string, string]>([
    [[], '', 'The body must be a JSON object.'],
    [{ where: [] }, '/where', '"where" must be an object of conditions.'],
    [
      { were: {} },
      '/were',
      '"were" is not an input field. Allowed: where, offset, limit, after, before, count, sort, fields, q.',
    ],
    [
      { where: { or: [{ title: 'a' }, { titel: 'a' }] } },
      '/where/or/1/titel',
      '"titel" is not a field of the records here. Allowed: _id, title, completed, dueAt, createdAt, updatedAt, and, or, not.',
    ],
    [
      { where: { description: 'a' } },
      '/where/description',
      expect.stringContaining('is not a field') as string,
    ],
    [{ where: { completed: 'true' } }, '/where/completed', '"completed" must be true or false.'],
    [{ where: { title: 5 } }, '/where/title', '"title" must be a text.'],
    [{ where: { title: ['a'] } }, '/where/title', '"title" must be a text.'],
    [
      { where: { title: { gt: 'a' } } },
      '/where/title/gt',
      '"title" has no operator "gt". Allowed: eq, ne, in, nin, exists, contains, startsWith.',
    ],
    [
      { where: { title: { $ne: 'a' } } },
      '/where/title/$ne',
      expect.stringContaining('no operator "$ne"') as string,
    ],
    [{ where: { $where: '1' } }, '/where/$where', expect.stringContaining('is not a field') as string],
    [{ where: { title: {} } }, '/where/title', expect.stringContaining('an object of eq, ne') as string],
    [
      { where: { title: { contains: null } } },
      '/where/title/contains',
      '"contains" must be a text of at most 1000 characters.',
    ],
    [{ where: { title: { exists: 1 } } }, '/where/title/exists', '"exists" must be true or false.'],
    [{ where: { title: { in: 'a' } } }, '/where/title/in', '"in" must be a list of 1 to 500 values.'],
    [
      { where: { title: { in: Array(501).fill('a') } } },
      '/where/title/in',
      '"in" must be a list of 1 to 500 values.',
    ],
    [
      { where: { createdAt: { gt: null } } },
      '/where/createdAt/gt',
      expect.stringContaining('a timestamp') as string,
    ],
    [{ where: { or: [] } }, '/where/or', '"or" must be a list of 1 to 20 objects of conditions.'],
    [
      { where: { and: Array(21).fill({}) } },
      '/where/and',
      '"and" must be a list of 1 to 20 objects of conditions.',
    ],
    [
      { where: deep(6) },
      '/where/not/not/not/not/not/not',
      '"where" has at most 5 levels of and, or and not. Leave some out.',
    ],
    [{ where: wide(17) }, '/where/and/2/or/16/title', 'A query has at most 50 conditions. Leave some out.'],
    [{ limit: '5' }, '/limit', '"limit" must be a whole number.'],
    [{ limit: 101 }, '/limit', expect.stringContaining('from 1 to 100') as string],
    [{ limit: 1.5 }, '/limit', expect.stringContaining('from 1 to 100') as string],
    [{ sort: 'title' }, '/sort', '"sort" must be a list of one or more names.'],
    [{ sort: ['completed,dueAt'] }, '/sort', '"sort" must be a list of one or more names.'],
    [{ sort: ['dueAt', 'title'] }, '/sort', expect.stringContaining('is not an order here') as string],
    [{ fields: ['titel'] }, '/fields', expect.stringContaining('"titel" is not a field') as string],
    [{ q: ['tea'] }, '/q', '"q" must be a text.'],
    [{ limit: 1, offset: 0, after: 'x' }, '/after', '"after" cannot be combined with "offset".'],
    [{ limit: 1, after: 'x' }, '/after', expect.stringContaining('is not a cursor of this list') as string],
  ])('rejects a fault at its place (case %#)', async (body, pointer, detail) => {
    const response = await ask(app, '/todos', body);
    expect([response.status, response.body.errors]).toEqual([400, [{ pointer, detail }]]);
  });

  it('takes the largest tree', async () => {
    expect((await ask(app, '/todos', { where: deep(5) })).status).toBe(200);
    expect((await ask(app, '/todos', { where: wide(16) })).status).toBe(200);
  });

  it('has pages with cursors of its own, and no links', async () => {
    const where = { or: [{ title: { contains: 'tea' } }, { title: 'water' }], completed: false };
    const first = await ask(app, '/todos', { where, limit: 1, sort: ['title'] });
    expect(first.headers.get('link')).toBeNull();
    const { completed, or } = where;
    const second = await ask(app, '/todos', {
      where: { completed, or },
      limit: 1,
      sort: ['title'],
      after: first.body.next,
    });
    const found = [first, second].flatMap(({ body }) => body.results as unknown as { title: string }[]);
    expect(found.map(({ title }) => title)).toEqual(['black tea', 'water']);
    expect([first.body.count, second.body.next]).toEqual([2, null]);
    const plain = await app.get('/todos?limit=1');
    const exchanged = await ask(app, '/todos', { limit: 1, after: plain.body.next });
    const ofBody = await ask(app, '/todos', { limit: 1 });
    const back = await app.get(`/todos?limit=1&after=${ofBody.body.next as string}`);
    expect([exchanged.status, back.status]).toEqual([400, 400]);
  });

  it('tells clients of itself', async () => {
    const options = await app.request('OPTIONS', '/todos');
    expect([options.status, options.headers.get('allow'), options.headers.get('accept-query')]).toEqual([
      204,
      'GET, HEAD, OPTIONS, POST, QUERY',
      '"application/json"',
    ]);
    expect((await app.get('/todos')).headers.get('accept-query')).toBe('"application/json"');
    expect((await app.request('PUT', '/todos')).headers.get('allow')).toBe('GET, HEAD, POST, QUERY');
    expect((await app.request('OPTIONS', '/todos/query')).headers.get('accept-query')).toBeNull();
  });

  it('takes JSON alone, no parameters of the URL, and no key', async () => {
    const patch = { 'Content-Type': 'application/merge-patch+json' };
    expect((await ask(app, '/todos', {}, { headers: patch })).status).toBe(415);
    expect((await app.request('QUERY', '/todos?limit=1', { body: {} })).body.errors).toEqual([
      { parameter: 'limit', detail: '"limit" is not a parameter here; this path takes none.' },
    ]);
    const headers = { 'Idempotency-Key': 'a query' };
    await ask(app, '/todos', { limit: 1 }, { headers });
    const again = await ask(app, '/todos', { limit: 2 }, { headers });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null]);
  });

  it('shows archived records to their tenant alone', async () => {
    const body = { archived: 'only' };
    expect((await ask(app, '/posts/api', body)).status).toBe(401);
    expect((await ask(app, '/posts/api', body, { token: globex })).body).toEqual([]);
    expect((await ask(app, '/posts/api', body, { token: acme })).body).toMatchObject([{ tenant: ACME }]);
    expect((await ask(app, '/posts/api', {})).body).toHaveLength(2);
    const where = { deletedAt: { exists: true } };
    expect((await ask(app, '/posts/api', { where })).body.errors).toMatchObject([
      { pointer: '/where/deletedAt' },
    ]);
    expect((await ask(app, '/posts/api', { where, archived: 'include' }, { token: acme })).body).toHaveLength(
      1,
    );
  });
});

class OnlyChief implements CanActivate {
  canActivate(context: ExecutionContext) {
    return context.switchToHttp().getRequest<{ headers: object }>().headers['x-chief' as never] !== undefined;
  }
}
class Mask implements NestInterceptor {
  intercept: NestInterceptor['intercept'] = (_context, next) =>
    next.handle().pipe(map((page: { results: object[] }) => ({ masked: page.results.length })));
}

class MemoInput {
  @IsText({ max: 20 }) text!: string;
}
/** A resource of its own for each controller. */
function memos(name: string, more = {}) {
  @Schema({ timestamps: true })
  class Memo extends MemoInput {
    @Prop({ type: Types.ObjectId }) tenant!: Types.ObjectId;
  }
  Object.defineProperty(Memo, 'name', { value: name });
  return crudOptions({
    entity: Memo,
    input: MemoInput,
    name,
    isolationFields: { all: { tenant: currentTenant } },
    ...more,
  });
}
const own = memos('own');
class OwnController extends CrudController(own) {
  @UseGuards(OnlyChief)
  @UseInterceptors(Mask)
  override list(scope: TenantScope, query: ListQuery) {
    return super.list(scope, query);
  }
}

describe('queries in bodies of other resources', () => {
  const guards = [OnlyChief];
  const app = useApp(() =>
    createResourceApp(
      CrudModule.forFeature(own, { controller: OwnController }),
      CrudModule.forFeature(memos('listed', { routes: { list: { guards } } }), { providers: guards }),
      CrudModule.forFeature(memos('got', { routes: { get: { guards } } }), { providers: guards }),
      CrudModule.forFeature(memos('closed', { disable: ['get'] })),
    ),
  );
  const chief = { 'X-Chief': 'yes' };

  it.each(WAYS)('%s %s pass what is on the list', async (method, path) => {
    for (const name of ['own', 'listed', 'got']) {
      await app.post(`/${name}`, { text: 'a' }, { token: acme, headers: chief });
      const send = (token: string | undefined, headers = {}) =>
        app.request(method, `/${name}${path}`, { body: { limit: 5 }, token, headers });
      expect([name, (await send(undefined, chief)).status]).toEqual([name, 401]);
      expect([name, (await send(acme)).status]).toEqual([name, 403]);
    }
    const { body } = await app.request(method, `/listed${path}`, { body: {}, token: acme, headers: chief });
    expect(body).toContainEqual(expect.objectContaining({ text: 'a', tenant: ACME }));
    const foreign = await app.request(method, `/listed${path}`, { body: {}, token: globex, headers: chief });
    expect(foreign.body).toEqual([]);
  });

  it.each(WAYS)('%s %s do not exist where the list is off', async (method, path) => {
    const response = await app.request(method, `/closed${path}`, { body: {}, token: acme });
    expect(response.status).toBe(405);
  });
});
