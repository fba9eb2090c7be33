/** @mongodb */
import { describeCrudContract } from '../support/crud-contract.js';
import * as cases from '../support/crud-contract/field-cases.js';
import { NOBODY } from '../support/crud-contract/records.js';
import { fault } from '../support/faults.js';
import {
  expectInvalid,
  expectInvalidId,
  expectNoTenant,
  expectNotFound,
  expectUnauthenticated,
} from '../support/problems.js';
import { storedIn } from '../support/records.js';
import { ACME, acme, globex, GLOBEX, tokenOf } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';
const FULL = { title: 'Release notes', content: 'What is new.', tags: ['release', 'news'] };
const CONTENT = '"content" must be a string of at most 100000 characters.';
const TAGS = '"tags" must be an array of at most 20 entries, each a string of 1 to 50 characters.';
const { EMOJI, kept, NOT_TEXT, ODD_TEXTS, refused } = cases;

const app = useTestApp();
beforeEach(() => app.empty());
const FILTERS = ['_id', 'title', 'tags', 'tenant', 'createdAt', 'updatedAt'];

describeCrudContract('posts', {
  app: () => app,
  token: () => acme,
  path: PATH,
  collection: 'posts',
  label: 'Post',
  counts: true,
  hasCursors: true,
  parameters: {
    list: ['offset', 'limit', 'after', 'before', 'count', 'sort', 'fields', 'q', 'archived', ...FILTERS],
    count: ['q', 'archived', ...FILTERS],
    get: ['fields', 'archived'],
  },
  full: FULL,
  optional: ['content', 'tags'],
  defaults: { tenant: ACME },
  valid: {
    title: cases.validTitles,
    content: kept(['', 'c'.repeat(100_000), EMOJI.repeat(100_000), ...ODD_TEXTS]),
    tags: kept([
      ...[[], ['t'], ['twice', 'twice'], [EMOJI.repeat(50)], ODD_TEXTS],
      Array.from({ length: 20 }, (_, i) => String(i).padEnd(50, 't')),
    ]),
  },
  invalid: {
    title: cases.invalidTitles,
    content: refused(CONTENT, [...NOT_TEXT, 'c'.repeat(100_001), EMOJI.repeat(100_001)]),
    tags: refused(TAGS, [
      ...['release', 1, true, {}, { length: 0 }, { 0: 'release', length: 1 }, { $each: ['release'] }],
      ...[Array.from({ length: 21 }, () => 't'), [''], ['t'.repeat(51)], [EMOJI.repeat(51)]],
      ...[['fine', null], [['nested']]],
      ...NOT_TEXT.filter((value) => !Array.isArray(value)).map((value) => [value]),
    ]),
  },
});

const create = async (body: object = FULL, token = acme) =>
  (await app.post(PATH, body, { token })).body._id as string;
const archive = async (id: string, token = acme, headers?: { 'If-Match': string }) => {
  const { status, body } = await app.del(`${PATH}/${id}`, { token, headers });
  return status === 200 ? (body as unknown) : (body.code as unknown);
};
const stored = async (title: string): Promise<Record<string, unknown>> => ({
  ...(await app.database.collection('posts').findOne({ title }, { projection: { _outbox: 0 } })),
});

it.each(['tenant', 'deletedAt'])('a body cannot set %s', async (field) => {
  const id = await create();
  const before = (await app.get(PATH)).body;
  const unknown = fault(`/${field}`, 'is not an input field. Allowed: title, content, tags.');
  for (const value of [ACME, GLOBEX, NOBODY, '2026-01-31T09:00:00.000Z', null, [GLOBEX], { $ne: null }]) {
    expectInvalid(await app.post(PATH, { ...FULL, [field]: value }, { token: acme }), PATH, unknown);
    const patched = await app.patch(`${PATH}/${id}`, { [field]: value }, { token: acme });
    expectInvalid(patched, `${PATH}/${id}`, unknown);
  }
  expect((await app.get(PATH)).body).toEqual(before);
});

it('everybody reads the posts of every tenant', async () => {
  const first = await create({ title: 'Of acme' });
  await create({ title: 'Of globex' }, globex);
  const { body } = await app.get(PATH);
  expect(body).toMatchObject([{ tenant: GLOBEX }, { _id: first, tenant: ACME }]);
  for (const token of [undefined, globex]) {
    expect((await app.get(PATH, { token })).body).toEqual(body);
    expect((await app.get(`${PATH}/count`, { token })).body).toEqual({ count: 2 });
    expect((await app.get(`${PATH}?limit=1`, { token })).body.count).toBe(2);
    expect((await app.get(`${PATH}/${first}`, { token })).body.title).toBe('Of acme');
  }
});

describe('DELETE /posts/api/:id', () => {
  const ARCHIVED = { archived: true };

  it('archives the post: the record stays, with deletedAt set to now, also if it is archived already', async () => {
    const id = await create({ title: 'Kept' });
    const { __v, ...before } = await stored('Kept');
    const from = new Date();
    expect(await archive(id)).toEqual(ARCHIVED);
    const { __v: revision, ...after } = await stored('Kept');
    expect(after).toEqual({ ...before, updatedAt: expect.any(Date), deletedAt: expect.any(Date) });
    expect(revision).not.toBe(__v);
    const moments = [from, after.deletedAt, new Date()].map(Number);
    expect(moments).toEqual(moments.toSorted());
    const longAgo = new Date('2020-01-01T00:00:00.000Z');
    await app.database.collection('posts').updateOne({}, { $set: { deletedAt: longAgo } });
    expect(await archive(id)).toEqual(ARCHIVED);
    expect(Number((await stored('Kept')).deletedAt)).toBeGreaterThanOrEqual(Number(from));
  });

  it('makes the post absent from list, page, count, get and update, and keeps the others', async () => {
    const [stays, goes] = [await create({ title: 'Stays' }), await create({ title: 'Goes' })];
    await archive(goes);
    const record = (await app.get(`${PATH}/${stays}`)).body;
    expect((await app.get(PATH)).body).toEqual([record]);
    const page = await app.get(`${PATH}?limit=10`);
    expect(page.body).toEqual({ results: [record], count: 1, next: null, prev: null });
    expect(page.headers.get('link')).not.toContain('next');
    expect((await app.get(`${PATH}/count`)).body).toEqual({ count: 1 });
    const before = await stored('Goes');
    for (const token of [undefined, acme])
      expectNotFound(await app.get(`${PATH}/${goes}`, { token }), `${PATH}/${goes}`, 'Post');
    for (const body of [{ title: 'Revived' }, { content: null }, {}])
      expectNotFound(await app.patch(`${PATH}/${goes}`, body, { token: acme }), `${PATH}/${goes}`, 'Post');
    expect(await stored('Goes')).toEqual(before);
  });

  it('answers archived true for no post and for that of another tenant, or 412 with If-Match, and modifies none', async () => {
    const id = await create({ title: 'Kept' });
    const before = await stored('Kept');
    for (const missing of [NOBODY, id]) expect(await archive(missing, globex)).toEqual(ARCHIVED);
    expect(await archive(NOBODY, acme, { 'If-Match': '*' })).toBe('PRECONDITION_FAILED');
    expect(await archive(id, acme, { 'If-Match': '"7"' })).toBe('PRECONDITION_FAILED');
    expect(await archive(id, globex, { 'If-Match': '"0"' })).toBe('PRECONDITION_FAILED');
    expect(await stored('Kept')).toEqual(before);
    expect(await app.database.collection('posts').countDocuments()).toBe(1);
    expect(await archive(id, acme, { 'If-Match': '"0"' })).toEqual(ARCHIVED);
    expectInvalidId(await app.del(`${PATH}/all`, { token: acme }), `${PATH}/all`);
  });
});

it('PATCH of one post by many waits before the database, which others use meanwhile', async () => {
  const path = `${PATH}/${await create()}`;
  const [running, numbers] = [new Set<number>(), new Set<number>()];
  app.connection.getClient().on('commandStarted', ({ requestId, command }) => {
    if (command.findAndModify === 'posts') numbers.add(running.add(requestId).size);
  });
  app.connection.getClient().on('commandSucceeded', ({ requestId }) => running.delete(requestId));
  const patches = Array.from({ length: 20 }, (_, i) => app.patch(path, { title: `${i}` }, { token: acme }));
  const statuses = (await Promise.all(patches)).map(({ status }) => status);
  expect([new Set(statuses), numbers]).toEqual([new Set([200]), new Set([1])]);
});

const nameless = tokenOf(undefined, { sub: 'nobody' });
const restore = (id: string, token: string, headers?: Record<string, string>) =>
  app.request('POST', `${PATH}/${id}/restore`, { token, headers });
const read = async (below: string) => (await app.get(PATH + below, { token: acme })).body;
const titles = (records: { title: string }[]) => records.map(({ title }) => title);
const allStored = async () => (await storedIn(app, 'posts')).map(({ _outbox: _, ...post }) => post);

/** An archived and a live post of each tenant. */
async function seed() {
  const ids = {
    old: await create({ title: 'Old of acme' }),
    live: await create({ title: 'Live of acme' }),
    theirs: await create({ title: 'Old of globex' }, globex),
    theirLive: await create({ title: 'Live of globex' }, globex),
  };
  await archive(ids.old);
  await archive(ids.theirs, globex);
  return ids;
}

describe('reading archived posts', () => {
  it('shows a tenant only its own: the archived posts, or the archived and the live ones', async () => {
    const { old, live, theirs, theirLive } = await seed();
    expect(titles(await read('?archived=only'))).toEqual(['Old of acme']);
    expect(titles(await read('?archived=include'))).toEqual(['Live of acme', 'Old of acme']);
    expect(titles(await read(''))).toEqual(['Live of globex', 'Live of acme']);
    expect(await read('/count?archived=only')).toEqual({ count: 1 });
    expect(await read('/count?archived=include')).toEqual({ count: 2 });
    expect(await read('/count')).toEqual({ count: 2 });
    const [record] = await read('?archived=only');
    expect(await read(`/${old}?archived=only`)).toEqual(record);
    const single = await app.get(`${PATH}/${old}?archived=include`, { token: acme });
    expect([single.body, single.headers.get('etag')]).toEqual([record, '"1"']);
    expect(record.deletedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect((await read(`/${live}?archived=include`)).title).toBe('Live of acme');
    for (const archived of ['only', 'include']) {
      for (const id of [theirs, NOBODY, archived === 'only' ? live : theirLive]) {
        const response = await app.get(`${PATH}/${id}?archived=${archived}`, { token: acme });
        expectNotFound(response, `${PATH}/${id}`, 'Post');
      }
      // Whatever a filter names.
      expect(await read(`?archived=${archived}&tenant=${GLOBEX}`)).toEqual([]);
      expect(await read(`/count?archived=${archived}&tenant=${GLOBEX}`)).toEqual({ count: 0 });
    }
  });

  it.each(['only', 'include', 'yes', ''])('takes a token and a tenant: archived=%s', async (value) => {
    const { old } = await seed();
    for (const below of ['', '/count', `/${old}`]) {
      const path = `${PATH}${below}?archived=${value}`;
      expectUnauthenticated(await app.get(path), `${PATH}${below}`);
      expectNoTenant('tenant')(await app.get(path, { token: nameless }), `${PATH}${below}`);
      expect((await app.request('HEAD', path)).status).toBe(401);
    }
    expectUnauthenticated(await app.get(`${PATH}?limit=5&archived=${value}`), PATH);
  });

  it('accepts no other value, and no repetition', async () => {
    const { old } = await seed();
    const detail = '"archived" must be one of only, include.';
    for (const below of ['', '/count', `/${old}`]) {
      for (const value of ['yes', '', 'ONLY', 'true', 'only,include', '%24ne']) {
        const response = await app.get(`${PATH}${below}?archived=${value}`, { token: acme });
        expectInvalid(response, `${PATH}${below}`, { parameter: 'archived', detail });
      }
      const twice = await app.get(`${PATH}${below}?archived=only&archived=only`, { token: acme });
      const fault = { parameter: 'archived', detail: '"archived" must be given once.' };
      expectInvalid(twice, `${PATH}${below}`, fault);
    }
  });
});

describe('POST /posts/api/:id/restore', () => {
  it('makes the post visible to everybody again, as it was', async () => {
    const id = await create({ title: 'Comes back' });
    const { body: before } = await app.get(`${PATH}/${id}`);
    await archive(id);
    const { status, body } = await restore(id, acme);
    expect([status, body]).toEqual([200, { restored: true }]);
    const after = await app.get(`${PATH}/${id}`);
    expect(after.body).toEqual({ ...before, updatedAt: expect.any(String) });
    expect(after.headers.get('etag')).toBe('"2"');
    expect(await read('?archived=only')).toEqual([]);
    expect((await app.patch(`${PATH}/${id}`, { title: 'Changed' }, { token: acme })).status).toBe(200);
  });

  it('is a 404 if the tenant has no such archived post, the same byte for byte', async () => {
    const { live, theirs, theirLive } = await seed();
    const before = await allStored();
    const text = async (id: string) => {
      const response = await restore(id, acme);
      expectNotFound(response, `${PATH}/${id}/restore`, 'Post');
      return response.text.replaceAll(id, ':id').replace(response.body.requestId, ':request');
    };
    const nobody = await text(NOBODY);
    for (const id of [live, theirs, theirLive]) expect(await text(id)).toBe(nobody);
    expect((await restore('old', acme)).body.code).toBe('INVALID_ID');
    expect(await allStored()).toEqual(before);
  });

  it('with If-Match restores only the revision that it names', async () => {
    const { old, live } = await seed();
    const before = await allStored();
    const codeOf = async (id: string, tag: string) =>
      (await restore(id, acme, { 'If-Match': tag })).body.code as unknown;
    expect(await codeOf(old, '"0"')).toBe('PRECONDITION_FAILED');
    expect(await codeOf(old, 'W/"1"')).toBe('PRECONDITION_FAILED');
    for (const id of [live, NOBODY]) expect(await codeOf(id, '*')).toBe('RECORD_NOT_FOUND');
    expect(await allStored()).toEqual(before);
    expect((await restore(old, acme, { 'If-Match': '"1"' })).body).toEqual({ restored: true });
  });
});
