/** @mongodb */
import { NOBODY } from '../support/crud-contract/records.js';
import { expectInvalid, expectNotFound, expectNoTenant, expectUnauthenticated } from '../support/problems.js';
import { acme, GLOBEX, globex, tokenOf } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';
import { linksOf } from '../support/walks.js';

const PATH = '/posts/api';

const app = useTestApp();
const nameless = tokenOf(undefined, { sub: 'nobody' });
beforeEach(() => app.empty());

const create = async (title: string, token = acme) =>
  (await app.post(PATH, { title }, { token })).body._id as string;
const archive = (id: string, token = acme) => app.del(`${PATH}/${id}`, { token });
const restore = (id: string, token: string, headers?: Record<string, string>) =>
  app.request('POST', `${PATH}/${id}/restore`, { token, headers });
const read = async (below: string) => (await app.get(PATH + below, { token: acme })).body;
const titles = (records: { title: string }[]) => records.map(({ title }) => title);
const stored = () =>
  app.database
    .collection('posts')
    .find({}, { projection: { _outbox: 0 }, sort: { _id: 1 } })
    .toArray();

/** An archived and a live post of each tenant. */
async function seed() {
  const ids = {
    old: await create('Old of acme'),
    live: await create('Live of acme'),
    theirs: await create('Old of globex', globex),
    theirLive: await create('Live of globex', globex),
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

  it('pages them, with links that ask for the same', async () => {
    const ids = [await create('First'), await create('Second'), await create('Third')];
    for (const id of ids) await archive(id);
    await create('Live');
    const page = await app.get(`${PATH}?archived=only&offset=1&limit=1`, { token: acme });
    expect(titles(page.body.results)).toEqual(['Second']);
    expect(page.body.count).toBe(3);
    const { next = '' } = linksOf(page.headers);
    expect(titles((await app.get(next, { token: acme })).body.results)).toEqual(['First']);
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

  it('is not a parameter of writes', async () => {
    const { old } = await seed();
    const before = await stored();
    for (const [method, below, body] of [
      ['POST', '?archived=only', { title: 'New' }],
      ['PATCH', `/${old}?archived=include`, { title: 'New' }],
      ['DELETE', `/${old}?archived=only`, undefined],
      ['POST', `/${old}/restore?archived=only`, undefined],
    ] as const)
      expect((await app.request(method, PATH + below, { body, token: acme })).status).toBe(400);
    expect(await stored()).toEqual(before);
  });
});

describe('POST /posts/api/:id/restore', () => {
  it('makes the post visible to everybody again, as it was', async () => {
    const id = await create('Comes back');
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
    const before = await stored();
    const text = async (id: string) => {
      const response = await restore(id, acme);
      expectNotFound(response, `${PATH}/${id}/restore`, 'Post');
      return response.text.replaceAll(id, ':id').replace(response.body.requestId, ':request');
    };
    const nobody = await text(NOBODY);
    for (const id of [live, theirs, theirLive]) expect(await text(id)).toBe(nobody);
    expect((await restore('old', acme)).body.code).toBe('INVALID_ID');
    expect(await stored()).toEqual(before);
  });

  it('with If-Match restores only the revision that it names', async () => {
    const { old, live } = await seed();
    const before = await stored();
    const codeOf = async (id: string, tag: string) =>
      (await restore(id, acme, { 'If-Match': tag })).body.code as unknown;
    expect(await codeOf(old, '"0"')).toBe('PRECONDITION_FAILED');
    expect(await codeOf(old, 'W/"1"')).toBe('PRECONDITION_FAILED');
    for (const id of [live, NOBODY]) expect(await codeOf(id, '*')).toBe('RECORD_NOT_FOUND');
    expect(await stored()).toEqual(before);
    expect((await restore(old, acme, { 'If-Match': '"1"' })).body).toEqual({ restored: true });
  });

  it('restores once, whoever else tries at the same moment', async () => {
    const { old } = await seed();
    const answers = await Promise.all(Array.from({ length: 8 }, () => restore(old, acme)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(404)]);
  });
});
