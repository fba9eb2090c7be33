import { Types } from 'mongoose';
import {
  expectInvalid,
  expectNotFound,
  expectNoTenant,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { acme, globex, tokenOf } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';
import { createWebhookApp, HOOK, SUBSCRIPTIONS as PATH, WHOLE_SECRET } from '../../support/webhooks.js';
import { ID, KEPT, postWhole } from '../../support/whole-records.js';

const REPRESENTATION = { Prefer: 'return=representation' };
const EVENTS =
  '"events" must be an array of 1 to 1000 distinct entries, each a string of 1 to 200 characters.';
const KNOWN = 'posts.created, posts.updated, posts.archived, posts.restored, posts.*';
const URL_SHAPE = '"url" must be a string of 1 to 2000 characters.';
const REFUSED = 'The address is not a public one. Choose another.';

describe('subscriptions', () => {
  const asked: string[] = [];
  const app = useApp(() =>
    createWebhookApp((url) => {
      asked.push(url);
      return Promise.resolve(url.includes('private') ? REFUSED : undefined);
    }),
  );
  beforeEach(async () => {
    asked.length = 0;
    await app.empty();
  });

  const post = (body: unknown, headers?: Record<string, string>) =>
    app.post(PATH, body, { token: acme, headers });
  const create = async (body: object = HOOK, token = acme) =>
    (await app.post(PATH, body, { token })).body._id as string;
  const patch = (id: string, changes: unknown, headers?: Record<string, string>) =>
    app.patch(`${PATH}/${id}`, changes, { token: acme, headers });
  const get = (id: string, query = '') => app.get(`${PATH}/${id}${query}`, { token: acme });
  const stored = async (id: string) =>
    app.database.collection('subscriptions').findOne({ _id: new Types.ObjectId(id) });

  describe('POST /subscriptions', () => {
    it('answers with the id and the secret', async () => {
      const { status, body, headers } = await post({ ...HOOK, description: 'For the newsletter' });
      expect([status, body]).toEqual([201, { _id: ID, secret: WHOLE_SECRET }]);
      expect(headers.get('location')).toBe(`${PATH}/${body._id}`);
      expect((await get(body._id as string)).body).toEqual({
        ...KEPT,
        ...HOOK,
        description: 'For the newsletter',
        enabled: true,
      });
    });

    it('answers with the record and the secret if that is preferred', async () => {
      const { status, body, headers } = await postWhole(app, PATH, HOOK, acme);
      expect([status, body]).toEqual([201, { ...KEPT, ...HOOK, enabled: true, secret: WHOLE_SECRET }]);
      expect(headers.get('preference-applied')).toBe('return=representation');
      const { secret: _, ...record } = body as Record<string, unknown>;
      expect((await get(body._id as string)).body).toEqual(record);
    });

    it('gives every subscription its own secret of 32 bytes', async () => {
      const secrets = await Promise.all([1, 2, 3].map(async () => (await post(HOOK)).body.secret as string));
      expect(new Set(secrets).size).toBe(3);
      for (const secret of secrets) expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    });

    it('refuses invalid values, and says which are valid', async () => {
      expectInvalid(
        await post({}),
        PATH,
        { pointer: '/url', detail: URL_SHAPE },
        { pointer: '/events', detail: EVENTS },
      );
      for (const url of ['', 7, `https://example.com/${'x'.repeat(1_981)}`, ['https://example.com']]) {
        expectInvalid(await post({ ...HOOK, url }), PATH, { pointer: '/url', detail: URL_SHAPE });
      }
      for (const events of [[], ['posts.created', 'posts.created'], 'posts.created']) {
        expectInvalid(await post({ ...HOOK, events }), PATH, { pointer: '/events', detail: EVENTS });
      }
      for (const type of ['posts.read', 'posts.deleted', 'webhook.test', 'todos.created', '*', 'posts']) {
        const detail = `"${type}" must be one of ${KNOWN}.`;
        const events = ['posts.*', type];
        expectInvalid(await post({ ...HOOK, events }), PATH, { pointer: '/events/1', detail });
      }
      expectInvalid(await post({ ...HOOK, description: 'd'.repeat(501) }), PATH, {
        pointer: '/description',
        detail: '"description" must be a string of at most 500 characters.',
      });
      expect(asked).toEqual([]);
      expect((await app.get(PATH, { token: acme })).body).toEqual([]);
    });

    it.each(['enabled', 'secret', 'previousSecrets', 'tenant', '_id', 'createdAt', '__v'])(
      'refuses %s, which is not an input of a create',
      async (field) => {
        expectInvalid(await post({ ...HOOK, [field]: true }), PATH, {
          pointer: `/${field}`,
          detail: `"${field}" is not an input field. Allowed: url, events, description.`,
        });
      },
    );

    it('accepts an address of 2,000 characters', async () => {
      const url = `https://example.com/${'x'.repeat(1_980)}`;
      expect((await get(await create({ ...HOOK, url }))).body.url).toBe(url);
    });

    it('refuses a target that webhooks may not reach', async () => {
      const url = 'https://private.example.com';
      expectInvalid(await post({ ...HOOK, url }), PATH, { pointer: '/url', detail: REFUSED });
      expect(await app.database.collection('subscriptions').countDocuments()).toBe(0);
    });
  });

  describe('PATCH /subscriptions/:id', () => {
    it('changes only the sent fields', async () => {
      const id = await create({ ...HOOK, description: 'One' });
      const { body } = await patch(id, { events: ['posts.updated'], enabled: false }, REPRESENTATION);
      expect(body).toEqual({
        ...KEPT,
        ...HOOK,
        description: 'One',
        events: ['posts.updated'],
        enabled: false,
      });
      expect((await patch(id, { enabled: null, description: null })).body).toEqual({ updated: true });
      expect((await get(id)).body).toEqual({ ...KEPT, ...HOOK, events: ['posts.updated'], enabled: true });
    });

    it('checks the target again only if the URL is sent', async () => {
      const id = await create();
      asked.length = 0;
      await patch(id, { description: 'Two' });
      expect(asked).toEqual([]);
      const url = 'https://private.example.com';
      expectInvalid(await patch(id, { url }), `${PATH}/${id}`, { pointer: '/url', detail: REFUSED });
      expect((await get(id)).body.url).toBe(HOOK.url);
      await patch(id, { url: 'https://other.example.com' });
      expect((await get(id)).body.url).toBe('https://other.example.com');
    });

    it('refuses invalid values, and secrets', async () => {
      const id = await create();
      const path = `${PATH}/${id}`;
      expectInvalid(await patch(id, { events: [] }), path, { pointer: '/events', detail: EVENTS });
      expectInvalid(await patch(id, { url: null }), path, {
        pointer: '/url',
        detail: '"url" is required and cannot be removed with null.',
      });
      expectInvalid(await patch(id, { secret: 'whsec_mine' }), path, {
        pointer: '/secret',
        detail: '"secret" is not an input field. Allowed: url, events, description, enabled.',
      });
    });

    it('checks If-Match', async () => {
      const id = await create();
      const etag = (await get(id)).headers.get('etag') ?? '';
      expect((await patch(id, { enabled: false }, { 'If-Match': etag })).status).toBe(200);
      expect((await patch(id, { enabled: true }, { 'If-Match': etag })).status).toBe(412);
    });
  });

  describe('GET /subscriptions', () => {
    it('lists, filters, sorts, pages and counts', async () => {
      const one = await create({ ...HOOK, url: 'https://one.example.com' });
      const two = await create({ ...HOOK, url: 'https://two.example.com', events: ['posts.updated'] });
      await patch(one, { enabled: false });
      const ids = async (query: string) =>
        ((await app.get(`${PATH}?${query}`, { token: acme })).body as { _id: string }[]).map(
          ({ _id }) => _id,
        );
      expect(await ids('')).toEqual([two, one]);
      expect(await ids('sort=createdAt')).toEqual([one, two]);
      expect(await ids('sort=-updatedAt')).toEqual([one, two]);
      expect(await ids('events=posts.updated')).toEqual([two]);
      expect(await ids('events[ne]=posts.updated')).toEqual([one]);
      expect(await ids('enabled=false')).toEqual([one]);
      expect(await ids('url[contains]=TWO')).toEqual([two]);
      expect(await ids('createdAt[gt]=2100-01-01T00:00:00Z')).toEqual([]);
      const { body } = await app.get(`${PATH}?limit=1&fields=url`, { token: acme });
      expect(body).toEqual({
        results: [{ _id: two, url: 'https://two.example.com' }],
        count: 2,
        next: expect.any(String),
        prev: null,
      });
      expect((await app.get(`${PATH}/count?enabled=true`, { token: acme })).body).toEqual({ count: 1 });
    });

    it.each(['secret', 'previousSecrets', 'previousSecrets.secret', 'tenant'])(
      'does not filter, sort or choose by %s',
      async (field) => {
        await create();
        for (const query of [`${field}=x`, `${field}[exists]=true`, `sort=${field}`, `fields=${field}`]) {
          expect((await app.get(`${PATH}?${query}`, { token: acme })).status).toBe(400);
        }
      },
    );
  });

  it('belong to one tenant: another one finds none, by any route', async () => {
    const id = await create();
    const before = await stored(id);
    const path = `${PATH}/${id}`;
    const foreign = { token: globex };
    expect((await app.get(PATH, foreign)).body).toEqual([]);
    expect((await app.get(`${PATH}?limit=5`, foreign)).body).toMatchObject({ results: [], count: 0 });
    expect((await app.get(`${PATH}?_id=${id}`, foreign)).body).toEqual([]);
    expect((await app.get(`${PATH}/count`, foreign)).body).toEqual({ count: 0 });
    expectNotFound(await app.get(path, foreign), path, 'Subscription');
    expectNotFound(await app.patch(path, { enabled: false }, foreign), path, 'Subscription');
    expectNotFound(await app.del(path, foreign), path, 'Subscription');
    for (const action of ['rotate-secret', 'test']) {
      const url = `${path}/${action}`;
      expectNotFound(await app.post(url, undefined, foreign), url, 'Subscription');
    }
    expect(await stored(id)).toEqual(before);
  });

  it('require a token with a tenant on every route', async () => {
    const id = await create();
    const [path, bare] = [`${PATH}/${id}`, await tokenOf(undefined)];
    const requests: [string, string, unknown?][] = [
      ['GET', PATH],
      ['POST', PATH, HOOK],
      ['GET', `${PATH}/count`],
      ['GET', path],
      ['PATCH', path, { enabled: false }],
      ['DELETE', path],
      ['POST', `${path}/rotate-secret`],
      ['POST', `${path}/test`],
    ];
    for (const [method, url, body] of requests) {
      expectUnauthenticated(await app.request(method, url, { body }), url);
      expectNoTenant('tenant')(await app.request(method, url, { body, token: bare }), url);
    }
    expect((await get(id)).body).toEqual({ ...KEPT, ...HOOK, enabled: true });
  });

  it('accept no secret from a client, or anything else that a path does not use', async () => {
    const id = await create();
    const before = await stored(id);
    for (const action of ['rotate-secret', 'test']) {
      const url = `${PATH}/${id}/${action}`;
      const detail = '"secret" is not an input field; this path takes no body.';
      expectProblem(await app.post(url, { secret: 'whsec_AAAA' }, { token: acme }), {
        status: 400,
        code: 'VALIDATION_FAILED',
        detail: `The request is not valid: ${detail}`,
        instance: url,
        errors: [{ pointer: '/secret', detail }],
      });
      expect((await app.post(url, ['AAAA'], { token: acme })).status).toBe(400);
    }
    expect(await stored(id)).toEqual(before);
    expect((await app.post(`${PATH}/${id}/rotate-secret`, {}, { token: acme })).status).toBe(200);
  });

  it('accept only their methods, and valid identifiers', async () => {
    const id = await create();
    for (const action of ['rotate-secret', 'test']) {
      const url = `${PATH}/${id}/${action}`;
      const response = await app.get(url, { token: acme });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
      expectProblem(await app.post(`${PATH}/7/${action}`, undefined, { token: acme }), {
        status: 400,
        code: 'INVALID_ID',
        detail: 'The id must be 24 hexadecimal digits.',
        instance: `${PATH}/7/${action}`,
        errors: [{ parameter: 'id', detail: 'The id must be 24 hexadecimal digits.' }],
      });
    }
  });
});
