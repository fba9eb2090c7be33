import { createHmac, randomBytes } from 'node:crypto';
import { Types } from 'mongoose';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { expectInvalid } from '../../support/problems.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';
import { createTestApp, type TestApp, useTestApp } from '../../support/test-app.js';
import { pageOf, walkForward } from '../../support/walks.js';
import { selected } from '../../support/query-model.js';
import { feature } from '../../support/resource.js';
import { IsText } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { Prop } from '@nestjs/mongoose';

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

describe('the text of a cursor', () => {
  const app = useTestApp();
  beforeEach(async () => {
    await app.empty();
    await app.database.collection('todos').insertMany(todos);
  });

  const send = (after: string, query = '') =>
    app.get(`/todos?limit=5&after=${encodeURIComponent(after)}${query}`);
  const expectRefused = async (after: string, query = '') =>
    expectInvalid(await send(after, query), '/todos', { parameter: 'after', detail: DETAIL });

  it('refuses every other text', async () => {
    const cursor = await cursorOf(app);
    const bytes = Buffer.from(cursor, 'base64url');
    expect((await send(cursor)).status).toBe(200);
    for (let i = 0; i < bytes.length; i++) {
      const flipped = Buffer.from(bytes);
      flipped[i] = (flipped[i] ?? 0) ^ (1 << (i % 8));
      await expectRefused(flipped.toString('base64url'));
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
    for (const other of others.filter((text) => text !== cursor)) await expectRefused(other);
  });

  it('shows nothing of the record that a page ends with', async () => {
    const bytes = Buffer.from(await cursorOf(app, '/todos', { sort: 'title' }), 'base64url');
    for (const { _id, title } of todos) {
      expect(bytes.includes(title)).toBe(false);
      expect(bytes.includes(Buffer.from(_id.id))).toBe(false);
    }
  });

  it('binds a cursor to its order, filter and resource, and to nothing else in the request', async () => {
    const cursor = await cursorOf(app);
    for (const query of ['&fields=title,createdAt,updatedAt', '&count=none', '&sort=-createdAt']) {
      expect((await send(cursor, query)).body.results).toHaveLength(5);
    }
    expect((await app.get(`/todos?before=${cursor}`)).body.results).toHaveLength(4);
    for (const query of ['&sort=createdAt', '&sort=title', '&title[ne]=x', '&_id[exists]=true']) {
      await expectRefused(cursor, query);
    }
    expectInvalid(await app.get(`/posts/api?after=${cursor}`), '/posts/api', {
      parameter: 'after',
      detail: DETAIL,
    });
    const filtered = await cursorOf(app, '/todos', { 'title[ne]': 'x', 'completed[ne]': 'true' });
    expect((await send(filtered, '&completed[ne]=true&title[ne]=x')).status).toBe(200);
    await expectRefused(filtered, '&title[ne]=x');
    await expectRefused(filtered, '&title[ne]=y&completed[ne]=true');
    expectInvalid(await app.get(`/todos?before=${filtered}`), '/todos', {
      parameter: 'before',
      detail: DETAIL.replace('after', 'before'),
    });
  });

  it('cannot be combined with another position of a page', async () => {
    const cursor = await cursorOf(app);
    const both = '"after" cannot be combined with "offset".';
    expectInvalid(await send(cursor, '&offset=5'), '/todos', { parameter: 'after', detail: both });
    expectInvalid(await app.get(`/todos?before=${cursor}&offset=0`), '/todos', {
      parameter: 'before',
      detail: both.replace('after', 'before'),
    });
    expectInvalid(await send(cursor, `&before=${cursor}`), '/todos', {
      parameter: 'after',
      detail: '"after" cannot be combined with "before".',
    });
  });

  it('stays usable if the database was emptied meanwhile', async () => {
    const cursor = await cursorOf(app);
    await app.database.collection('installation').deleteMany({});
    expect((await send(cursor)).status).toBe(200);
    await app.database.collection('installation').drop();
    await expectRefused('AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
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

describe('the key of an installation', () => {
  it('is the same for all processes on a database, whatever their token secrets, and different elsewhere', async () => {
    const uri = freshDatabaseUri();
    const secrets = [
      'one secret of more than thirty-two bytes',
      'another secret of more than thirty-two bytes',
    ];
    const start = (JWT_SECRET?: string, MONGODB_URI = uri) =>
      createTestApp({ env: { MONGODB_URI, ...(JWT_SECRET && { JWT_SECRET }) } });
    const [one, two, elsewhere] = [
      await start(),
      await start(secrets[0]),
      await start(secrets[1], freshDatabaseUri()),
    ];
    for (const { database } of [one, elsewhere]) await database.collection('todos').insertMany(todos);
    // Both need the key first, at once.
    const [ofOne, ofTwo] = await Promise.all([cursorOf(one), cursorOf(two)]);
    const third = await start(secrets[1]);
    for (const app of [one, two, third])
      for (const cursor of [ofOne, ofTwo])
        expect((await app.get(`/todos?after=${cursor}`)).body.results).toHaveLength(5);
    expect(await one.database.collection('installation').countDocuments()).toBe(1);
    expectInvalid(await elsewhere.get(`/todos?after=${ofOne}`), '/todos', {
      parameter: 'after',
      detail: DETAIL,
    });

    // Another key, as after a restore: whoever meets a cursor of it takes it over.
    await one.database.collection('installation').deleteMany({});
    const fourth = await start();
    const ofFourth = await cursorOf(fourth);
    expect((await one.get(`/todos?after=${ofFourth}`)).body.results).toHaveLength(5);
    await third.leave();
    await fourth.leave();
    await two.leave();
    await one.close();
    await elsewhere.close();
  });

  it('is shared by all that ask for it first', async () => {
    const app = await createTestApp();
    await app.database.collection('todos').insertMany(todos);
    const cursors = await Promise.all(Array.from({ length: 30 }, () => cursorOf(app)));
    expect(new Set(cursors).size).toBe(1);
    await app.close();
  });
});

it('binds a cursor to its resource and to the tenant of its list, and not to the caller of a public one', async () => {
  const titled = {
    fields: { title: IsText({ max: 100 }) },
    kept: { tenant: Prop({ type: Types.ObjectId }) },
  };
  const app = await createResourceApp(
    feature({ name: 'letters', ...titled, isolationFields: { all: { tenant: currentTenant } } }),
    feature({ name: 'leaves', ...titled }),
    feature({ name: 'twigs', ...titled }),
  );
  const refused = async (path: string, token?: string) =>
    expectInvalid(await app.get(path, { token }), path.split('?', 1)[0] ?? '', {
      parameter: 'after',
      detail: DETAIL,
    });
  const owned = [ACME, GLOBEX].flatMap((tenant) =>
    Array.from({ length: 10 }, (_, i) => ({ ...todo(i), tenant: new Types.ObjectId(tenant) })),
  );
  for (const name of ['letters', 'leaves', 'twigs']) await app.database.collection(name).insertMany(owned);
  const path = `/letters?after=${await cursorOf(app, '/letters', {}, acme)}`;
  expect((await app.get(path, { token: acme })).body.results).toHaveLength(5);
  await refused(path, globex);
  const shared = await cursorOf(app, '/leaves', {}, acme);
  expect((await app.get(`/leaves?after=${shared}`)).body.results).toHaveLength(15);
  await refused(`/twigs?after=${shared}`);
  await app.close();
});

it('binds a cursor of archived records to them and to their tenant', async () => {
  const app = await createTestApp();
  const archived = Array.from({ length: 12 }, (_, i) => ({
    ...todo(i),
    tenant: new Types.ObjectId(ACME),
    deletedAt: new Date(1_770_000_000_000 + (i % 3)),
  }));
  await app.database.collection('posts').insertMany(archived);
  const query = { archived: 'only', sort: 'deletedAt' };
  const { ids } = await walkForward({
    app,
    path: '/posts/api',
    query,
    limit: () => 5,
    request: { token: acme },
  });
  const models = archived.map(({ _id, deletedAt }) => ({ _id: String(_id), deletedAt: Number(deletedAt) }));
  const expected = selected(models, { conditions: [], sort: ['deletedAt'] });
  expect(ids).toEqual(expected.map(({ _id }) => _id));
  const cursor = await cursorOf(app, '/posts/api', query, acme);
  const refused = async (others: string, token?: string) =>
    expectInvalid(await app.get(`/posts/api?after=${cursor}${others}`, { token }), '/posts/api', {
      parameter: 'after',
      detail: DETAIL,
    });
  await refused('&archived=include&sort=deletedAt', acme);
  await refused('&archived=only&sort=deletedAt', globex);
  await refused('&archived=only&sort=-deletedAt', acme);
  await refused('');
  await app.close();
});
