/** @mongodb */
import { expectInvalid, expectUnauthenticated } from '../support/problems.js';
import { expectWritesRefused } from '../support/refused-writes.js';
import { requestsOf } from '../support/requests-of.js';
import { ACME, acme, forgedToken, globex, GLOBEX, goodClaims } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';
const NOBODY = '0123456789abcdef01234567';
const POST = { title: 'Release notes' };
const CHANGED = { title: 'Changed' };

const app = useTestApp();
beforeEach(() => app.empty());

const [ofAcme, ofGlobex] = [requestsOf(app, acme), requestsOf(app, globex)];
const create = () => ofAcme.create(PATH, POST);
const stored = () =>
  app.database
    .collection('posts')
    .find({}, { projection: { _outbox: 0 } })
    .toArray();

describe('a write without credentials', () => {
  it.each<[string, Record<string, string>]>([
    ['no Authorization header', {}],
    ['another scheme', { Authorization: 'Basic YWNtZTphY21l' }],
    ['a scheme that only begins like Bearer', { Authorization: `Bearers ${acme}` }],
    ['the token without its scheme', { Authorization: acme }],
    ['the token in a cookie', { Cookie: `token=${acme}; Authorization=Bearer ${acme}; session=${acme}` }],
    ['the token in headers of other names', { 'X-Authorization': `Bearer ${acme}`, 'X-Access-Token': acme }],
    ['the token as proxy credentials', { 'Proxy-Authorization': `Bearer ${acme}` }],
  ])('is a 401 with WWW-Authenticate: Bearer: %s', async (_name, headers) => {
    await expectWritesRefused(app, headers, expectUnauthenticated);
  });

  it('is a 401 with the token in the query', async () => {
    for (const name of ['access_token', 'token', 'authorization'])
      expectUnauthenticated(await app.post(`${PATH}?${name}=${acme}`, POST), PATH);
    expect(await stored()).toEqual([]);
  });

  it('is a 401 before any other fault of the request is reported', async () => {
    expectUnauthenticated(await app.post(PATH, { tenant: ACME, unknown: 1, access_token: acme }), PATH);
    expectUnauthenticated(await app.patch(`${PATH}/no-id`, {}), `${PATH}/no-id`);
    expectUnauthenticated(await app.del(`${PATH}/no-id`), `${PATH}/no-id`);
  });
});

describe('reads', () => {
  it.each([undefined, 'not a token', forgedToken({ alg: 'none' }, goodClaims(), { hash: null })])(
    'are public, whatever the token: %s',
    async (token) => {
      const id = await create();
      for (const path of [PATH, `${PATH}?limit=1`, `${PATH}/count`, `${PATH}/${id}`])
        for (const method of ['GET', 'HEAD'])
          expect(await requestsOf(app, token).status(method, path)).toBe(200);
    },
  );
});

describe('the tenant', () => {
  it.each(['tenant', 'tenant[$ne]', 'tenantId'])('is not a query parameter: %s', async (parameter) => {
    const one = `${PATH}/${await create()}`;
    const before = await stored();
    const query = `?${encodeURIComponent(parameter)}=${GLOBEX}`;
    const fault = { parameter, detail: `"${parameter}" is not a parameter here; this path takes none.` };
    expectInvalid(await ofGlobex.send('POST', PATH + query, POST), PATH, fault);
    expectInvalid(await ofGlobex.send('PATCH', one + query, CHANGED), one, fault);
    expectInvalid(await ofGlobex.send('DELETE', one + query), one, fault);
    expect(await stored()).toEqual(before);
  });

  it('is not taken from any header or cookie', async () => {
    const one = `${PATH}/${await create()}`;
    const before = await stored();
    const headers = {
      ...{ Tenant: ACME, 'X-Tenant': ACME, 'X-Tenant-Id': ACME, 'X-Forwarded-User': ACME },
      ...{ 'X-HTTP-Method-Override': 'DELETE', Cookie: `tenant=${ACME}`, Forwarded: `for=${ACME}` },
    };
    expect(await ofGlobex.status('PATCH', one, CHANGED, headers)).toBe(404);
    await ofGlobex.send('DELETE', one, undefined, headers);
    expect(await stored()).toEqual(before);
    await ofGlobex.send('POST', PATH, POST, headers);
    expect((await stored()).map(({ tenant }) => String(tenant)).sort()).toEqual([ACME, GLOBEX]);
  });

  it('is not taken from the path', async () => {
    const id = await create();
    const before = await stored();
    for (const path of [`/${ACME}${PATH}/${id}`, `${PATH}/${ACME}/${id}`, `${PATH};tenant=${ACME}/${id}`]) {
      expect(await ofGlobex.status('PATCH', path, CHANGED)).toBe(404);
      expect(await ofGlobex.status('DELETE', path)).toBe(404);
    }
    expect(await stored()).toEqual(before);
  });

  it('stays the same when the post is changed', async () => {
    const one = `${PATH}/${await create()}`;
    await ofAcme.send('PATCH', one, { title: 'Changed', content: 'More', tags: ['t'] });
    expect(await ofAcme.get(one)).toMatchObject({ title: 'Changed', tenant: ACME });
  });

  it('globex cannot change or archive a post of acme, or learn that there is one', async () => {
    const [active, archived] = [await create(), await create()];
    await ofAcme.send('DELETE', `${PATH}/${archived}`);
    const before = await stored();
    const answer = async (method: string, id: string, body?: unknown) => {
      const headers = { 'X-Request-Id': 'the-same-request' };
      const response = await ofGlobex.send(method, `${PATH}/${id}`, body, headers);
      const known = [...response.headers].filter(([name]) => name !== 'date');
      return { status: response.status, headers: known, text: response.text.replaceAll(id, '<id>') };
    };
    const changes = [CHANGED, {}, { content: null }, { title: '' }, { tenant: GLOBEX }];
    for (const request of [...changes.map((body) => ['PATCH', body] as const), ['DELETE'] as const]) {
      const [method, body] = request;
      const nobody = await answer(method, NOBODY, body);
      if (body) expect([400, 404]).toContain(nobody.status);
      for (const id of [active, archived]) expect(await answer(method, id, body)).toEqual(nobody);
    }
    expect(await stored()).toEqual(before);
  });
});
