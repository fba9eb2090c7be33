/** @mongodb */
import { expectInvalid, expectUnauthenticated } from '../support/problems.js';
import { expectWritesRefused } from '../support/refused-writes.js';
import { ACME, acme, forgedToken, globex, GLOBEX, goodClaims } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';
const NOBODY = '0123456789abcdef01234567';
const POST = { title: 'Release notes' };

const app = useTestApp();
beforeEach(() => app.empty());

const create = async (token = acme) => (await app.post(PATH, POST, { token })).body._id as string;
const stored = () =>
  app.database
    .collection('posts')
    .find({}, { projection: { _outbox: 0 } })
    .toArray();
const tenants = async () => (await stored()).map(({ tenant }) => String(tenant));

describe('a write without credentials', () => {
  it.each<[string, () => Record<string, string>]>([
    ['no Authorization header', () => ({})],
    ['another scheme', () => ({ Authorization: 'Basic YWNtZTphY21l' })],
    ['a scheme that only begins like Bearer', () => ({ Authorization: `Bearers ${acme}` })],
    ['the token without its scheme', () => ({ Authorization: acme })],
    [
      'the token in a cookie',
      () => ({ Cookie: `token=${acme}; Authorization=Bearer ${acme}; session=${acme}` }),
    ],
    [
      'the token in headers of other names',
      () => ({ 'X-Authorization': `Bearer ${acme}`, 'X-Access-Token': acme }),
    ],
    ['the token as proxy credentials', () => ({ 'Proxy-Authorization': `Bearer ${acme}` })],
  ])('is a 401 with WWW-Authenticate: Bearer: %s', async (_name, headers) => {
    await expectWritesRefused(app, headers(), expectUnauthenticated);
  });

  it('is a 401 with the token in the query', async () => {
    for (const name of ['access_token', 'token', 'authorization']) {
      expectUnauthenticated(await app.post(`${PATH}?${name}=${acme}`, POST), PATH);
    }
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
      for (const path of [PATH, `${PATH}?limit=1`, `${PATH}/count`, `${PATH}/${id}`]) {
        expect((await app.get(path, { token })).status).toBe(200);
        expect((await app.request('HEAD', path, { token })).status).toBe(200);
      }
    },
  );
});

describe('the tenant', () => {
  it.each(['tenant', 'tenant[$ne]', 'tenantId'])('is not a query parameter: %s', async (parameter) => {
    const id = await create();
    const before = await stored();
    const query = `?${encodeURIComponent(parameter)}=${GLOBEX}`;
    const fault = { parameter, detail: `"${parameter}" is not a parameter here; this path takes none.` };
    const one = `${PATH}/${id}`;
    expectInvalid(await app.post(PATH + query, POST, { token: globex }), PATH, fault);
    expectInvalid(await app.patch(one + query, { title: 'Changed' }, { token: globex }), one, fault);
    expectInvalid(await app.del(one + query, { token: globex }), one, fault);
    expect(await stored()).toEqual(before);
  });

  it('is not taken from any header or cookie', async () => {
    const id = await create();
    const before = await stored();
    const headers = {
      Tenant: ACME,
      'X-Tenant': ACME,
      'X-Tenant-Id': ACME,
      'X-Forwarded-User': ACME,
      'X-HTTP-Method-Override': 'DELETE',
      Cookie: `tenant=${ACME}`,
      Forwarded: `for=${ACME}`,
    };
    const response = await app.patch(`${PATH}/${id}`, { title: 'Changed' }, { token: globex, headers });
    expect(response.status).toBe(404);
    await app.del(`${PATH}/${id}`, { token: globex, headers });
    expect(await stored()).toEqual(before);
    await app.post(PATH, POST, { token: globex, headers });
    expect((await tenants()).sort()).toEqual([ACME, GLOBEX]);
  });

  it('is not taken from the path', async () => {
    const id = await create();
    const before = await stored();
    for (const path of [`/${ACME}${PATH}/${id}`, `${PATH}/${ACME}/${id}`, `${PATH};tenant=${ACME}/${id}`]) {
      expect((await app.patch(path, { title: 'Changed' }, { token: globex })).status).toBe(404);
      expect((await app.del(path, { token: globex })).status).toBe(404);
    }
    expect(await stored()).toEqual(before);
  });

  it('stays the same when the post is changed', async () => {
    const id = await create();
    await app.patch(`${PATH}/${id}`, { title: 'Changed', content: 'More', tags: ['t'] }, { token: acme });
    expect((await app.get(`${PATH}/${id}`)).body).toMatchObject({ title: 'Changed', tenant: ACME });
  });

  it('globex cannot change or archive a post of acme, or learn that there is one', async () => {
    const [active, archived] = [await create(), await create()];
    await app.del(`${PATH}/${archived}`, { token: acme });
    const before = await stored();
    const answer = async (method: string, id: string, body: unknown) => {
      const headers = { 'X-Request-Id': 'the-same-request' };
      const response = await app.request(method, `${PATH}/${id}`, { body, headers, token: globex });
      const known = [...response.headers].filter(([name]) => name !== 'date');
      return { status: response.status, headers: known, text: response.text.replaceAll(id, '<id>') };
    };
    for (const body of [{ title: 'Changed' }, {}, { content: null }, { title: '' }, { tenant: GLOBEX }]) {
      const nobody = await answer('PATCH', NOBODY, body);
      expect([400, 404]).toContain(nobody.status);
      expect(await answer('PATCH', active, body)).toEqual(nobody);
      expect(await answer('PATCH', archived, body)).toEqual(nobody);
    }
    const nobody = await answer('DELETE', NOBODY, undefined);
    expect(await answer('DELETE', active, undefined)).toEqual(nobody);
    expect(await answer('DELETE', archived, undefined)).toEqual(nobody);
    expect(await stored()).toEqual(before);
  });
});
