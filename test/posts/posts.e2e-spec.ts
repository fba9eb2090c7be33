/** @mongodb */
import { describeCrudContract } from '../support/crud-contract.js';
import * as cases from '../support/crud-contract/field-cases.js';
import { NOBODY } from '../support/crud-contract/records.js';
import { fault } from '../support/faults.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../support/problems.js';
import { ACME, acme, globex, GLOBEX } from '../support/tenants.js';
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
  valid: [
    ...cases.validTitles,
    ...kept('content', ['', 'c'.repeat(100_000), EMOJI.repeat(100_000), ...ODD_TEXTS]),
    ...kept('tags', [
      ...[[], ['t'], ['twice', 'twice'], [EMOJI.repeat(50)], ODD_TEXTS],
      Array.from({ length: 20 }, (_, i) => String(i).padEnd(50, 't')),
    ]),
  ],
  invalid: [
    ...cases.invalidTitles,
    ...refused('content', CONTENT, [...NOT_TEXT, 'c'.repeat(100_001), EMOJI.repeat(100_001)]),
    ...refused('tags', TAGS, [
      ...['release', 1, true, {}, { length: 0 }, { 0: 'release', length: 1 }, { $each: ['release'] }],
      ...[Array.from({ length: 21 }, () => 't'), [''], ['t'.repeat(51)], [EMOJI.repeat(51)]],
      ...[['fine', null], [['nested']]],
      ...NOT_TEXT.filter((value) => !Array.isArray(value)).map((value) => [value]),
    ]),
  ],
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
