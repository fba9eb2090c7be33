import {
  expectInvalid,
  expectInvalidId,
  expectNoMethod,
  expectNotFound,
  expectNoTenant,
  expectUnauthenticated,
} from '../../support/problems.js';
import { acme, globex, tokenOf } from '../../support/tenants.js';
import {
  HOOK,
  subscriber,
  SUBSCRIPTIONS as PATH,
  useWebhookApp,
  WHOLE_SECRET,
} from '../../support/webhooks.js';
import { ID, KEPT, postWhole } from '../../support/whole-records.js';

const REPRESENTATION = { Prefer: 'return=representation' };
const EVENTS =
  '"events" must be an array of 1 to 1000 distinct entries, each a string of 1 to 200 characters.';
const KNOWN = 'posts.created, posts.updated, posts.archived, posts.restored, posts.*';
const URL_SHAPE = '"url" must be a string of 1 to 2000 characters.';
const REFUSED = 'The name in the URL cannot be resolved.';
const PRIVATE = { url: 'https://private.example.com' };
const WHOLE = { ...KEPT, ...HOOK, enabled: true };

describe('subscriptions', () => {
  const asked: string[] = [];
  const app = useWebhookApp({}, (name) => {
    asked.push(name);
    return Promise.resolve(name.startsWith('private') ? [] : ['93.184.216.34']);
  });
  const { post, create, get, patch, act, stored } = subscriber(app);
  const at = (id: string) => `${PATH}/${id}`;
  const read = async (query: string) => (await app.get(PATH + query, { token: acme })).body as unknown;

  describe('POST /subscriptions', () => {
    it('answers with the id and the secret, or with the record and the secret if that is preferred', async () => {
      const sent = { ...HOOK, url: `https://example.com/${'x'.repeat(1_980)}`, description: 'One' };
      const { status, body, headers } = await post(sent);
      expect([status, body]).toEqual([201, { _id: ID, secret: WHOLE_SECRET }]);
      expect(headers.get('location')).toBe(at(body._id as string));
      expect((await get(body._id as string)).body).toEqual({ ...WHOLE, ...sent });
      const whole = await postWhole(app, PATH, HOOK, acme);
      expect([whole.status, whole.body]).toEqual([201, { ...WHOLE, secret: WHOLE_SECRET }]);
      expect(whole.headers.get('preference-applied')).toBe('return=representation');
      const { secret: _, ...record } = whole.body as { _id: string; secret: string };
      expect((await get(record._id)).body).toEqual(record);
    });

    it('takes the examples of its document', async () => {
      const { components } = (await app.get('/docs/openapi.json')).body;
      const { url, events } = components.schemas.SubscriptionCreate.properties;
      expect((await post({ url: url.example, events: events.example })).status).toBe(201);
    });

    it('gives every subscription its own secret of 32 bytes', async () => {
      const secrets = await Promise.all([1, 2, 3].map(async () => (await post(HOOK)).body.secret as string));
      expect(new Set(secrets).size).toBe(3);
      for (const secret of secrets) expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    });

    it('refuses invalid values, and says which are valid, other fields, and a target that webhooks may not reach', async () => {
      asked.length = 0;
      const url = { pointer: '/url', detail: URL_SHAPE };
      const events = { pointer: '/events', detail: EVENTS };
      const tooLong = '"description" must be a string of at most 500 characters.';
      expectInvalid(await post({}), PATH, url, events);
      for (const [changes, fault] of [
        [{ url: 7 }, url],
        [{ url: `https://example.com/${'x'.repeat(1_981)}` }, url],
        [{ url: ['https://example.com'] }, url],
        [{ events: [] }, events],
        [{ events: ['posts.created', 'posts.created'] }, events],
        [{ description: 'd'.repeat(501) }, { pointer: '/description', detail: tooLong }],
      ] as const)
        expectInvalid(await post({ ...HOOK, ...changes }), PATH, fault);
      for (const type of ['posts.read', 'posts.deleted', 'webhook.test', 'todos.created', '*', 'posts']) {
        const fault = { pointer: '/events/1', detail: `"${type}" must be one of ${KNOWN}.` };
        expectInvalid(await post({ ...HOOK, events: ['posts.*', type] }), PATH, fault);
      }
      for (const field of ['enabled', 'secret', 'previousSecrets', 'tenant', '_id', 'createdAt', '__v']) {
        const detail = `"${field}" is not an input field. Allowed: url, events, description.`;
        expectInvalid(await post({ ...HOOK, [field]: true }), PATH, { pointer: `/${field}`, detail });
      }
      expect(asked).toEqual([]);
      expectInvalid(await post({ ...HOOK, ...PRIVATE }), PATH, { pointer: '/url', detail: REFUSED });
      expect(await app.database.collection('subscriptions').countDocuments()).toBe(0);
    });
  });

  describe('PATCH /subscriptions/:id', () => {
    it('changes only the sent fields', async () => {
      const id = await create({ ...HOOK, description: 'One' });
      const events = ['posts.updated'];
      const { body } = await patch(id, { events, enabled: false }, REPRESENTATION);
      expect(body).toEqual({ ...WHOLE, description: 'One', events, enabled: false });
      expect((await patch(id, { enabled: null, description: null })).body).toEqual({ updated: true });
      expect((await get(id)).body).toEqual({ ...WHOLE, events });
    });

    it('checks the target again only if the URL is sent, and refuses invalid values and secrets', async () => {
      const id = await create();
      asked.length = 0;
      await patch(id, { description: 'Two' });
      expect(asked).toEqual([]);
      expectInvalid(await patch(id, PRIVATE), at(id), { pointer: '/url', detail: REFUSED });
      expect((await get(id)).body.url).toBe(HOOK.url);
      await patch(id, { url: 'https://other.example.com' });
      expect((await get(id)).body.url).toBe('https://other.example.com');
      const unknown = '"secret" is not an input field. Allowed: url, events, description, enabled.';
      for (const [field, value, detail] of [
        ['events', [], EVENTS],
        ['url', null, '"url" is required and cannot be removed with null.'],
        ['secret', 'whsec_mine', unknown],
      ] as const)
        expectInvalid(await patch(id, { [field]: value }), at(id), { pointer: `/${field}`, detail });
    });
  });

  it('GET /subscriptions lists, filters, sorts, pages and counts, but not by secrets and the tenant', async () => {
    const one = await create({ ...HOOK, url: 'https://one.example.com' });
    const two = await create({ ...HOOK, url: 'https://two.example.com', events: ['posts.updated'] });
    await patch(one, { enabled: false });
    for (const [query, expected] of [
      ['', [two, one]],
      ['sort=createdAt', [one, two]],
      ['sort=-updatedAt', [one, two]],
      ['events=posts.updated', [two]],
      ['events[ne]=posts.updated', [one]],
      ['enabled=false', [one]],
      ['url[contains]=TWO', [two]],
      ['createdAt[gt]=2100-01-01T00:00:00Z', []],
    ] as const) {
      const found = (await read(`?${query}`)) as { _id: string }[];
      expect([query, found.map(({ _id }) => _id)]).toEqual([query, expected]);
    }
    const results = [{ _id: two, url: 'https://two.example.com' }];
    const page = { results, count: 2, next: expect.any(String) as string, prev: null };
    expect(await read('?limit=1&fields=url')).toEqual(page);
    expect(await read('/count?enabled=true')).toEqual({ count: 1 });
    for (const field of ['secret', 'previousSecrets', 'previousSecrets.secret', 'tenant'])
      for (const query of [`${field}=x`, `${field}[exists]=true`, `sort=${field}`, `fields=${field}`])
        expect([query, await read(`?${query}`)]).toMatchObject([query, { status: 400 }]);
  });

  const routesOf = (id: string) =>
    [
      ['GET', at(id)],
      ['PATCH', at(id), { enabled: false }],
      ['DELETE', at(id)],
      ['POST', `${at(id)}/rotate-secret`],
      ['POST', `${at(id)}/test`],
    ] as const;

  it('belong to one tenant: another one finds none, by any route', async () => {
    const id = await create();
    const before = await stored(id);
    const foreign = { token: globex };
    for (const [query, nothing] of [
      ['', []],
      ['?limit=5', { results: [], count: 0, prev: null, next: null }],
      [`?_id=${id}`, []],
      ['/count', { count: 0 }],
    ] as const)
      expect((await app.get(PATH + query, foreign)).body).toEqual(nothing);
    for (const [method, url, body] of routesOf(id))
      expectNotFound(await app.request(method, url, { body, ...foreign }), url, 'Subscription');
    expect(await stored(id)).toEqual(before);
  });

  it('require a token with a tenant on every route', async () => {
    const id = await create();
    const bare = tokenOf(undefined);
    for (const [method, url, body] of [
      ['GET', PATH],
      ['POST', PATH, HOOK],
      ['GET', `${PATH}/count`],
      ...routesOf(id),
    ] as const) {
      expectUnauthenticated(await app.request(method, url, { body }), url);
      expectNoTenant('tenant')(await app.request(method, url, { body, token: bare }), url);
    }
    expect((await get(id)).body).toEqual(WHOLE);
  });

  it.each([
    ['rotate-secret', 200],
    ['test', 202],
  ])(
    'accept no secret from a client, or anything else that a path does not use: %s',
    async (action, status) => {
      const id = await create();
      const before = await stored(id);
      const url = `${at(id)}/${action}`;
      const detail = '"secret" is not an input field; this path takes no body.';
      const refused = await app.post(url, { secret: 'whsec_AAAA' }, { token: acme });
      expectInvalid(refused, url, { pointer: '/secret', detail });
      expect((await app.post(url, ['AAAA'], { token: acme })).status).toBe(400);
      expectNoMethod(await app.get(url, { token: acme }), 'GET', url, 'POST');
      expectInvalidId(await act('7', action), `${at('7')}/${action}`);
      expect(await stored(id)).toEqual(before);
      expect((await app.post(url, {}, { token: acme })).status).toBe(status);
    },
  );
});
