import { createHmac, randomBytes } from 'node:crypto';
import { Types } from 'mongoose';
import { Prop } from '@nestjs/mongoose';
import { currentTenant, IsText } from '../../../src/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { expectInvalid } from '../../support/problems.js';
import { selected } from '../../support/query-model.js';
import { feature } from '../../support/resource.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';
import { createTestApp, serviceWith, type TestApp, useTestApp } from '../../support/test-app.js';
import { linksOf, pageOf, walkForward } from '../../support/walks.js';

const DETAIL =
  '"after" is not a cursor of this list. Use "next" or "prev" of a page with the same filter and order.';

function todo(i: number, title = `Todo ${i}`) {
  const time = new Date(1_770_000_000_000 + i);
  return { _id: new Types.ObjectId(), title, createdAt: time, updatedAt: time, __v: 0 };
}

const todos = Array.from({ length: 10 }, (_, i) => todo(i));
/** The cursor behind the first five records of a list. */
async function cursorOf(app: TestApp, path = '/todos', query: Record<string, string> = {}, token?: string) {
  const { next } = await pageOf({ app, path, query, limit: () => 5, request: { token } });
  if (next === null) throw new Error('There is no next page.');
  return next;
}

const titled = { fields: { title: IsText({ max: 100 }) }, kept: { tenant: Prop({ type: Types.ObjectId }) } };
const imports = [
  feature({ name: 'letters', ...titled, isolationFields: { all: { tenant: currentTenant } } }),
  ...['leaves', 'twigs'].map((name) => feature({ name, ...titled })),
];
const app = useTestApp({ root: serviceWith({ imports }) });
beforeEach(() => app.empty());

/** Asserts that a list refuses a cursor; `path` may have a query. */
async function refuses(path: string, cursor: string, { name = 'after', detail = DETAIL, token = '' } = {}) {
  const url = `${path}${path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(cursor)}`;
  const fault = { parameter: name, detail: detail.replace('after', name) };
  const answered = await app.get(url, token === '' ? undefined : { token });
  expectInvalid(answered, path.split('?', 1)[0] ?? '', fault);
}

describe('the parameters of a page', () => {
  beforeEach(async () => {
    const odd = todos.slice(0, 7).map((one, i) => ({ ...one, title: `A&B, "<é>" +${i}`, completed: false }));
    await app.database.collection('todos').insertMany(odd);
  });

  const titles = (body: { results: { title: string }[] }) => body.results.map(({ title }) => title.slice(-1));

  it('stay in the links of a page by cursor, which lead through the list', async () => {
    const query = 'title[contains]=%26B,%20%22%3C%C3%89%3E%22%20%2B&sort=title&completed=false&count=none';
    const first = await app.get(`/todos?${query}&limit=3`);
    let page = await app.get(`/todos?${query}&limit=3&after=${first.body.next}`);
    expect(titles(page.body)).toEqual(['3', '4', '5']);
    const { next = '', prev = '', ...otherLinks } = linksOf(page.headers);
    expect(otherLinks).toEqual({});
    const parameters = new URL(next, app.url).searchParams;
    expect(Object.fromEntries(parameters)).toEqual({
      'title[contains]': '&B, "<É>" +',
      sort: 'title',
      completed: 'false',
      count: 'none',
      limit: '3',
      after: page.body.next,
    });
    page = await app.get(next);
    expect(titles(page.body)).toEqual(['6']);
    expect(Object.keys(linksOf(page.headers))).toEqual(['prev']);
    page = await app.get(prev);
    expect(titles(page.body)).toEqual(['0', '1', '2']);
    expect(Object.keys(linksOf(page.headers))).toEqual(['next']);
    expect(page.body).toEqual({ results: expect.any(Array), next: expect.any(String), prev: null });
  });

  it('stay in the links of a page by offset', async () => {
    const { headers, body } = await app.get('/todos?sort=title&limit=3&offset=3&title[startsWith]=a%26b');
    const at = (offset: number) => `/todos?offset=${offset}&limit=3&sort=title&title%5BstartsWith%5D=a%26b`;
    expect(linksOf(headers)).toEqual({ first: at(0), prev: at(0), next: at(6), last: at(6) });
    expect(titles((await app.get(linksOf(headers).next ?? '')).body)).toEqual(['6']);
    expect(body.count).toBe(7);
  });

  it('omit the count, and with it the last page', async () => {
    const { headers, body } = await app.get('/todos?limit=3&offset=3&count=none');
    expect(Object.keys(body).sort()).toEqual(['next', 'prev', 'results']);
    const at = (offset: number) => `/todos?offset=${offset}&limit=3&count=none`;
    expect(linksOf(headers)).toEqual({ first: at(0), prev: at(0), next: at(6) });
    const last = await app.get('/todos?limit=4&offset=3&count=none');
    expect(Object.keys(linksOf(last.headers))).toEqual(['first', 'prev']);
  });

  it('refuse other ways to count, and any without a page', async () => {
    const other = { parameter: 'count', detail: '"count" must be one of exact, estimated, none.' };
    expectInvalid(await app.get('/todos?limit=1&count=all'), '/todos', other);
    const alone = { parameter: 'count', detail: '"count" goes with a page. Send "limit", too.' };
    expectInvalid(await app.get('/todos?count=exact'), '/todos', alone);
    expect((await app.get('/todos/count?count=none')).status).toBe(400);
  });

  it('estimate the count from the figure that the database keeps, if that reveals nothing hidden', async () => {
    /** Whether the figure of the whole collection was asked for, or one of the records that meet a condition. */
    const isOfAll = async (path: string) => {
      const sent = await commandsOf(app, () => app.get(path));
      const [count, ...others] = sent.filter(({ name }) => name.startsWith('count '));
      expect(others).toEqual([]);
      return count?.command.query === undefined;
    };
    const estimated = 'limit=1&count=estimated';
    expect(await isOfAll(`/todos?${estimated}`)).toBe(true);
    expect(await isOfAll(`/todos?${estimated}&completed=false`)).toBe(false);
    expect(await isOfAll(`/posts/api?${estimated}`)).toBe(false);

    const { _id } = (await app.post('/posts/api', { title: 'Archived' }, { token: acme })).body;
    await app.post('/posts/api', { title: 'Live' }, { token: acme });
    await app.del(`/posts/api/${_id}`, { token: acme });
    const pageOf = async (path: string) => (await app.get(`${path}${estimated}`)).body as { count: number };
    expect((await pageOf('/posts/api?')).count).toBe(1);
    expect((await pageOf('/todos?')).count).toBe(7);
    const none = await pageOf(`/todos?_id=${String(new Types.ObjectId())}&`);
    expect(none).toEqual({ results: [], count: 0, next: null, prev: null });
  });
});

// What filters select is a matter of the random queries.
describe('the filters and orders of a list', () => {
  it('search for texts of up to a thousand characters, from any plane', async () => {
    await app.post('/todos', { title: '𐐀'.repeat(200) });
    const found = async (operator: string, length: number) =>
      (await app.get(`/todos?title[${operator}]=${encodeURIComponent('𐐨'.repeat(length))}`)).body as object[];
    for (const operator of ['contains', 'startsWith']) {
      expect(await found(operator, 200)).toHaveLength(1);
      expect(await found(operator, 1_000)).toEqual([]);
    }
  });

  it('refuse anything undeclared, and list what is declared', async () => {
    const asked = 'title[regex]=a&sort=-description';
    const faults = {
      'title[regex]':
        '"title" has no operator "regex". Allowed: eq, ne, in, nin, exists, contains, startsWith.',
      sort: '"-description" is not an order here. Allowed: -createdAt; createdAt; -updatedAt; updatedAt; dueAt; -dueAt; title; -title; completed,dueAt; -completed,-dueAt.',
    };
    const violations = Object.entries(faults).map(([parameter, detail]) => ({ parameter, detail }));
    expectInvalid(await app.get(`/todos?${asked}`), '/todos', ...violations);
  });
});

describe('the text of a cursor', () => {
  beforeEach(() => app.database.collection('todos').insertMany(todos));

  const send = (after: string, query = '') =>
    app.get(`/todos?limit=5&after=${encodeURIComponent(after)}${query}`);

  it('refuses every other text', async () => {
    const cursor = await cursorOf(app);
    const bytes = Buffer.from(cursor, 'base64url');
    expect((await send(cursor)).status).toBe(200);
    for (let i = 0; i < bytes.length; i += 3) {
      const flipped = Buffer.from(bytes);
      flipped[i] = (flipped[i] ?? 0) ^ (1 << (i % 8));
      await refuses('/todos?limit=5', flipped.toString('base64url'));
    }
    const payload = bytes.subarray(16);
    const resigned = createHmac('sha256', randomBytes(32)).update(payload).digest().subarray(0, 16);
    const others = [
      ...['', 'x', 'null', cursor.slice(0, -1), cursor.slice(1), `${cursor}A`, `${cursor}AAAA`],
      ...[`${cursor}=`, ` ${cursor}`, `${cursor}\n`, cursor.replace(/^./, '$&!'), bytes.toString('base64')],
      ...[payload, Buffer.concat([resigned, payload]), Buffer.alloc(16), Buffer.alloc(200)].map((forged) =>
        forged.toString('base64url'),
      ),
      '\u{1F600}',
      'A'.repeat(8_000),
    ];
    for (const other of others.filter((text) => text !== cursor)) await refuses('/todos?limit=5', other);
  });

  it('shows nothing of the record that a page ends with', async () => {
    const bytes = Buffer.from(await cursorOf(app, '/todos', { sort: 'title' }), 'base64url');
    for (const { _id, title } of todos)
      for (const shown of [title, Buffer.from(_id.id)]) expect(bytes.includes(shown)).toBe(false);
  });

  it('binds a cursor to its order, filter and resource, and to nothing else in the request', async () => {
    const cursor = await cursorOf(app);
    for (const query of ['&fields=title,createdAt,updatedAt', '&count=none', '&sort=-createdAt'])
      expect((await send(cursor, query)).body.results).toHaveLength(5);
    expect((await app.get(`/todos?before=${cursor}`)).body.results).toHaveLength(4);
    for (const query of ['sort=createdAt', 'sort=title', 'title[ne]=x', '_id[exists]=true'])
      await refuses(`/todos?${query}`, cursor);
    await refuses('/posts/api', cursor);
    const filtered = await cursorOf(app, '/todos', { 'title[ne]': 'x', 'completed[ne]': 'true' });
    expect((await send(filtered, '&completed[ne]=true&title[ne]=x')).status).toBe(200);
    await refuses('/todos?title[ne]=x', filtered);
    await refuses('/todos?title[ne]=y&completed[ne]=true', filtered);
    await refuses('/todos', filtered, { name: 'before' });
  });

  it('cannot be combined with another position of a page', async () => {
    const cursor = await cursorOf(app);
    const detail = '"after" cannot be combined with "offset".';
    await refuses('/todos?offset=5', cursor, { detail });
    await refuses('/todos?offset=0', cursor, { name: 'before', detail });
    await refuses(`/todos?before=${cursor}`, cursor, { detail: detail.replace('offset', 'before') });
  });

  it('stays usable if the database was emptied meanwhile', async () => {
    const cursor = await cursorOf(app);
    await app.database.collection('installation').deleteMany({});
    expect((await send(cursor)).status).toBe(200);
    await app.database.collection('installation').drop();
    await refuses('/todos', 'A'.repeat(32));
    expect((await send(cursor)).status).toBe(200);
  });

  it('fits into a URL, whatever the title', async () => {
    // White space does not count, and this kind takes three bytes.
    const long = `\uFFFD${'\u3000'.repeat(999)}`;
    await app.database.collection('todos').insertMany([todo(20, long), todo(21, long)]);
    const page = await app.get('/todos?sort=-title&limit=1');
    expect(page.body.next.length).toBeLessThan(4_200);
    const next = await app.get(`/todos?sort=-title&limit=1&after=${page.body.next}`);
    expect(next.body.results).toEqual([expect.objectContaining({ title: long })]);
  });
});

it('the key of an installation is that of all processes on a database, whatever their token secrets, and of no other', async () => {
  const uri = freshDatabaseUri();
  const secretOf = (word: string) => `${word} secret of more than thirty-two bytes`;
  const start = (JWT_SECRET?: string) =>
    createTestApp({ env: { MONGODB_URI: uri, ...(JWT_SECRET && { JWT_SECRET }) } });
  // With the secret of the first one.
  const elsewhere = app;
  const [one, two] = [await start(), await start(secretOf('one'))];
  for (const { database } of [one, elsewhere]) await database.collection('todos').insertMany(todos);
  // Both need the key first, many times at once.
  const first = Array.from({ length: 20 }, () => [cursorOf(one), cursorOf(two)]).flat();
  const [cursor = '', ...others] = new Set(await Promise.all(first));
  expect(others).toEqual([]);
  const third = await start(secretOf('another'));
  for (const app of [one, two, third])
    expect((await app.get(`/todos?after=${cursor}`)).body.results).toHaveLength(5);
  expect(await one.database.collection('installation').countDocuments()).toBe(1);
  const fault = { parameter: 'after', detail: DETAIL };
  expectInvalid(await elsewhere.get(`/todos?after=${cursor}`), '/todos', fault);

  // Another key, as after a restore: whoever meets a cursor of it takes it over.
  await one.database.collection('installation').deleteMany({});
  const fourth = await start();
  const ofFourth = await cursorOf(fourth);
  expect((await one.get(`/todos?after=${ofFourth}`)).body.results).toHaveLength(5);
  for (const app of [third, fourth, two]) await app.leave();
  await one.close();
});

it('binds a cursor to its resource and to the tenant of its list, and not to the caller of a public one', async () => {
  const owned = [ACME, GLOBEX].flatMap((tenant) =>
    Array.from({ length: 10 }, (_, i) => ({ ...todo(i), tenant: new Types.ObjectId(tenant) })),
  );
  for (const name of ['letters', 'leaves', 'twigs']) await app.database.collection(name).insertMany(owned);
  const cursor = await cursorOf(app, '/letters', {}, acme);
  expect((await app.get(`/letters?after=${cursor}`, { token: acme })).body.results).toHaveLength(5);
  await refuses('/letters', cursor, { token: globex });
  const shared = await cursorOf(app, '/leaves', {}, acme);
  expect((await app.get(`/leaves?after=${shared}`)).body.results).toHaveLength(15);
  await refuses('/twigs', shared);
});

it('binds a cursor of archived records to them and to their tenant', async () => {
  const archived = Array.from({ length: 12 }, (_, i) => {
    const deletedAt = new Date(1_770_000_000_000 + (i % 3));
    return { ...todo(i), tenant: new Types.ObjectId(ACME), deletedAt };
  });
  await app.database.collection('posts').insertMany(archived);
  const query = { archived: 'only', sort: 'deletedAt' };
  const list = { app, path: '/posts/api', query, limit: () => 5, request: { token: acme } };
  const models = archived.map(({ _id, deletedAt }) => ({ _id: String(_id), deletedAt: Number(deletedAt) }));
  const expected = selected(models, { conditions: [], sort: ['deletedAt'] });
  expect((await walkForward(list)).ids).toEqual(expected.map(({ _id }) => _id));
  const { headers } = await app.get('/posts/api?archived=only&limit=5', { token: acme });
  expect(linksOf(headers).next).toBe('/posts/api?offset=5&limit=5&archived=only');
  const cursor = await cursorOf(app, '/posts/api', query, acme);
  await refuses('/posts/api?archived=include&sort=deletedAt', cursor, { token: acme });
  await refuses('/posts/api?archived=only&sort=deletedAt', cursor, { token: globex });
  await refuses('/posts/api?archived=only&sort=-deletedAt', cursor, { token: acme });
  await refuses('/posts/api', cursor);
});
