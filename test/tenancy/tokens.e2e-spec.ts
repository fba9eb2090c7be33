import { ExamplesModule } from '../../examples/examples.module.js';
import {
  expectInvalid,
  expectInvalidToken,
  expectNoTenant,
  expectProblem,
  expectUnauthenticated,
} from '../support/problems.js';
import { requestsOf } from '../support/requests-of.js';
import { ACME, acme, forgedToken, globex, GLOBEX, goodClaims } from '../support/tenants.js';
import { inSeconds, TEST_SECRET, tokenOf } from '../support/tenants.js';
import { createTestApp, type TestApp, type TestResponse, useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';
const ATTACKERS = 'the attacker chose this';
const POST = { title: 'Release notes' };

const app = useTestApp();
beforeEach(() => app.empty());

const [ofAcme, ofGlobex] = [requestsOf(app, acme), requestsOf(app, globex)];
const create = () => ofAcme.create(PATH, POST);
const stored = () =>
  app.database
    .collection('posts')
    .find({}, { projection: { _outbox: 0 } })
    .toArray();

type Expectation = (response: TestResponse, instance: string) => void;

/** Tries a write, and expects it to be refused and nothing to be stored. */
async function expectRefused(headers: Record<string, string>, expectation: Expectation) {
  expectation(await app.post(PATH, POST, { headers }), PATH);
  expect(await stored()).toEqual([]);
}

it.each<[string, string | undefined, Expectation]>([
  ['no token', undefined, expectUnauthenticated],
  ['a wrong token', `${acme}x`, expectInvalidToken],
  ['a token without a tenant', tokenOf(undefined), expectNoTenant('tenant')],
])('every write is refused with %s, and nothing changed', async (_name, token, expectation) => {
  const one = `${PATH}/${await create()}`;
  const before = await stored();
  expectation(await app.post(PATH, POST, { token }), PATH);
  expectation(await app.patch(one, { title: 'Changed' }, { token }), one);
  expectation(await app.del(one, { token }), one);
  expect(await stored()).toEqual(before);
});

describe('a token of the shared secret', () => {
  it.each(['bearer', 'BEARER', 'Bearer '])('is read after the scheme "%s"', async (scheme) => {
    const headers = { Authorization: `${scheme} ${acme}` };
    expect((await app.post(PATH, POST, { headers })).status).toBe(201);
  });

  const HS256 = { alg: 'HS256' };
  it.each<[string, () => string]>([
    ['expired within the tolerance of 30 s', () => tokenOf(ACME, { exp: inSeconds(-15) })],
    ['valid from within the tolerance on', () => tokenOf(ACME, { nbf: inSeconds(15) })],
    ['issued in the future', () => tokenOf(ACME, { iat: inSeconds(600) })],
    ['of any issuer and audience by default', () => tokenOf(ACME, { iss: 'anyone', aud: ['anything'] })],
    ['of any other claims', () => tokenOf(ACME, { sub: '1', roles: { $ne: 1 }, tenants: [GLOBEX] })],
    ['with a claim of another tenant', () => tokenOf(ACME, { tenantId: GLOBEX })],
    ['of no type', () => forgedToken(HS256)],
    ['of the type JWT', () => forgedToken({ ...HS256, typ: 'JWT' })],
    ['of the type jwt', () => forgedToken({ ...HS256, typ: 'jwt' })],
    ['of the type at+jwt', () => forgedToken({ ...HS256, typ: 'at+jwt' })],
    ['of the type application/at+jwt', () => forgedToken({ ...HS256, typ: 'application/at+jwt' })],
  ])('writes: %s', async (_name, token) => {
    expect((await app.post(PATH, POST, { token: token() })).status).toBe(201);
    expect((await app.get(PATH)).body).toEqual([expect.objectContaining({ tenant: ACME })]);
  });

  it('keeps the tenant in lower case, so that its spelling does not matter', async () => {
    const upper = tokenOf('ABCDEF0123456789ABCDEF01');
    const lower = tokenOf('abcdef0123456789abcdef01');
    const { _id } = (await app.post(PATH, POST, { token: upper })).body;
    expect((await app.get(`${PATH}/${_id}`)).body.tenant).toBe('abcdef0123456789abcdef01');
    expect((await app.patch(`${PATH}/${_id}`, {}, { token: lower })).status).toBe(200);
  });

  it.each<[string, () => string]>([
    ['not a token', () => 'not-a-token'],
    ['three empty parts', () => '..'],
    ['a part too many', () => `${acme}.e30`],
    ['a part too few', () => acme.split('.').slice(0, 2).join('.')],
    ['two tokens', () => `${acme} ${acme}`],
    ['another secret', () => forgedToken(HS256, goodClaims(), { secret: `${TEST_SECRET}.` })],
    ['an empty secret', () => forgedToken(HS256, goodClaims(), { secret: '' })],
    ['an empty signature', () => forgedToken(HS256, goodClaims(), { hash: null })],
    ['a signature cut short', () => acme.slice(0, -8)],
    ['claims changed after signing', () => acme.replace(/\.[^.]+\./, `.${globex.split('.')[1]}.`)],
    ['alg none', () => forgedToken({ alg: 'none' }, goodClaims(), { hash: null })],
    ['alg None', () => forgedToken({ alg: 'None' }, goodClaims(), { hash: null })],
    ['alg none, yet signed', () => forgedToken({ alg: 'none' })],
    ['alg HS384 with the same secret', () => forgedToken({ alg: 'HS384' }, goodClaims(), { hash: 'sha384' })],
    ['alg HS512 with the same secret', () => forgedToken({ alg: 'HS512' }, goodClaims(), { hash: 'sha512' })],
    ['alg hs256', () => forgedToken({ alg: 'hs256' })],
    ['alg RS256, signed with the secret', () => forgedToken({ alg: 'RS256' })],
    ['alg missing', () => forgedToken({ typ: 'JWT' })],
    ['alg an array', () => forgedToken({ alg: ['HS256'] })],
    ['alg a number', () => forgedToken({ alg: 256 })],
    ['a header that is an array', () => forgedToken([HS256])],
    ['a header that is null', () => forgedToken(null)],
    ['claims that are an array', () => forgedToken(HS256, [goodClaims()])],
    ['claims that are null', () => forgedToken(HS256, null)],
    ['claims that are a string', () => forgedToken(HS256, ACME)],
    ['crit with an unknown extension', () => forgedToken({ ...HS256, crit: ['acme'], acme: true })],
    ['crit that names no header', () => forgedToken({ ...HS256, crit: ['exp'] })],
    ['crit that is empty', () => forgedToken({ ...HS256, crit: [] })],
    ['crit b64 with an unencoded payload', () => forgedToken({ ...HS256, crit: ['b64'], b64: false })],
    ['an ID token, by its at_hash', () => tokenOf(ACME, { at_hash: 'x' })],
    ['an ID token, by its c_hash', () => tokenOf(ACME, { c_hash: 'x' })],
    ['typ logout+jwt', () => forgedToken({ ...HS256, typ: 'logout+jwt' })],
    ['typ dpop+jwt', () => forgedToken({ ...HS256, typ: 'dpop+jwt' })],
    ['typ a number', () => forgedToken({ ...HS256, typ: 1 })],
    ['expired beyond the tolerance of 30 s', () => tokenOf(ACME, { exp: inSeconds(-45) })],
    ['not valid until after the tolerance', () => tokenOf(ACME, { nbf: inSeconds(45) })],
    ['no exp', () => tokenOf(ACME, { exp: undefined })],
    ['exp null', () => forgedToken(HS256, { ...goodClaims(), exp: null })],
    ['exp a string', () => forgedToken(HS256, { ...goodClaims(), exp: String(inSeconds(3600)) })],
    ['exp zero', () => forgedToken(HS256, { ...goodClaims(), exp: 0 })],
    ['nbf a string', () => forgedToken(HS256, { ...goodClaims(), nbf: 'now' })],
  ])('is a 401 with error="invalid_token": %s', async (_name, token) => {
    await expectRefused({ Authorization: `Bearer ${token()}` }, expectInvalidToken);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a key of its own', { jwk: { kty: 'oct', k: Buffer.from(ATTACKERS).toString('base64url') } }],
    ['a key set to fetch', { jku: 'http://127.0.0.1:9/keys.json', kid: '1' }],
    ['a certificate chain', { x5c: ['MIIB'], x5u: 'http://127.0.0.1:9/chain.pem' }],
    ['a key id that is a path', { kid: '../../../../dev/null' }],
  ])('is a 401 when it brings %s and is signed with that', async (_name, header) => {
    for (const secret of [ATTACKERS, '']) {
      const token = forgedToken({ alg: 'HS256', ...header }, goodClaims(), { secret });
      expectInvalidToken(await app.post(PATH, POST, { token }), PATH);
    }
  });

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['empty', ''],
    ['true', true],
    ['a number', 665],
    ['a number of 24 digits', 1.1e23],
    ['an array', [ACME]],
    ['an array of two', [ACME, GLOBEX]],
    ['an operator', { $ne: null }],
    ['a pattern', { $regex: '^' }],
    ['an extended-JSON identifier', { $oid: ACME }],
    ['an object that looks like a string', { toString: ACME, length: 24 }],
    ['too short', ACME.slice(1)],
    ['too long', `${ACME}0`],
    ['twelve bytes', 'twelve bytes'],
    ['not hexadecimal', `${ACME.slice(1)}g`],
    ['with a space around it', ` ${ACME}`],
    ['with a line break at the end', `${ACME}\n`],
    ['with a NUL at the end', `${ACME}\u0000`],
  ])('is a 403 when its tenant is %s', async (_name, tenant) => {
    const token = forgedToken({ alg: 'HS256' }, { ...goodClaims(), tenant });
    await expectRefused({ Authorization: `Bearer ${token}` }, expectNoTenant('tenant'));
  });
});

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
    await expectRefused(headers, expectUnauthenticated);
  });

  it('is a 401 with the token in the query, and before any other fault of the request is reported', async () => {
    for (const name of ['access_token', 'token', 'authorization'])
      expectUnauthenticated(await app.post(`${PATH}?${name}=${acme}`, POST), PATH);
    expect(await stored()).toEqual([]);
    expectUnauthenticated(await app.post(PATH, { tenant: ACME, unknown: 1, access_token: acme }), PATH);
    expectUnauthenticated(await app.patch(`${PATH}/no-id`, {}), `${PATH}/no-id`);
    expectUnauthenticated(await app.del(`${PATH}/no-id`), `${PATH}/no-id`);
  });
});

it.each([undefined, 'not a token', forgedToken({ alg: 'none' }, goodClaims(), { hash: null })])(
  'reads are public, whatever the token: %s',
  async (token) => {
    const id = await create();
    for (const path of [PATH, `${PATH}?limit=1`, `${PATH}/count`, `${PATH}/${id}`])
      for (const method of ['GET', 'HEAD'])
        expect(await requestsOf(app, token).status(method, path)).toBe(200);
  },
);

describe('the tenant', () => {
  it.each(['tenant', 'tenant[$ne]', 'tenantId'])('is not a query parameter: %s', async (parameter) => {
    const one = `${PATH}/${await create()}`;
    const before = await stored();
    const query = `?${encodeURIComponent(parameter)}=${GLOBEX}`;
    const fault = { parameter, detail: `"${parameter}" is not a parameter here; this path takes none.` };
    expectInvalid(await ofGlobex.send('POST', PATH + query, POST), PATH, fault);
    expectInvalid(await ofGlobex.send('PATCH', one + query, { title: 'Changed' }), one, fault);
    expectInvalid(await ofGlobex.send('DELETE', one + query), one, fault);
    expectInvalid(await ofGlobex.send('POST', `${one}/restore${query}`), `${one}/restore`, fault);
    expect(await stored()).toEqual(before);
  });

  it('is not taken from any header or cookie', async () => {
    const one = `${PATH}/${await create()}`;
    const before = await stored();
    const headers = {
      ...{ Tenant: ACME, 'X-Tenant': ACME, 'X-Tenant-Id': ACME, 'X-Forwarded-User': ACME },
      ...{ 'X-HTTP-Method-Override': 'DELETE', Cookie: `tenant=${ACME}`, Forwarded: `for=${ACME}` },
    };
    expect(await ofGlobex.status('PATCH', one, { title: 'Changed' }, headers)).toBe(404);
    await ofGlobex.send('DELETE', one, undefined, headers);
    expect(await stored()).toEqual(before);
    await ofGlobex.send('POST', PATH, POST, headers);
    expect((await stored()).map(({ tenant }) => String(tenant)).sort()).toEqual([ACME, GLOBEX]);
  });
});

const write = (app: TestApp, token: string) => app.post(PATH, POST, { token });

describe('a configured scope', () => {
  const app = useTestApp({ env: { JWT_SCOPE: 'posts:write' } });
  beforeEach(() => app.empty());

  it.each<object>([
    { scope: 'posts:write' },
    { scope: 'openid posts:write' },
    { scp: ['openid', 'posts:write'] },
    { scp: 'posts:write' },
  ])('lets a token write that has %j', async (claims) => {
    expect((await write(app, tokenOf(ACME, { ...claims }))).status).toBe(201);
  });

  it.each<object>([
    {},
    { scope: '' },
    { scope: 'posts:read' },
    { scope: 'posts:write:none' },
    { scope: { includes: 'posts:write' } },
    { scope: 'posts:read', scp: 'posts:write' },
    { scp: [['posts:write']] },
  ])('refuses a token that has %j, also for reads that need a token', async (claims) => {
    const token = tokenOf(ACME, { ...claims });
    const detail = 'The token must have the scope "posts:write". Ask the issuer for one with it.';
    const challenge = 'Bearer error="insufficient_scope", scope="posts:write"';
    for (const target of [PATH, '/subscriptions', '/events', `${PATH}?archived=only`]) {
      const answer = target === PATH ? await write(app, token) : await app.get(target, { token });
      const instance = target.replace(/\?.*/, '');
      expectProblem(answer, { status: 403, code: 'INSUFFICIENT_SCOPE', detail, instance });
      expect(answer.headers.get('www-authenticate')).toBe(challenge);
    }
    expect((await app.get(PATH)).body).toEqual([]);
  });
});

it('a configured scope applies to the examples, too', async () => {
  await using app = await createTestApp({ env: { JWT_SCOPE: 'shop' }, root: ExamplesModule.forRoot });
  const count = (scope: string) => app.get('/categories/count', { token: tokenOf(ACME, { scope }) });
  expect(await count('')).toMatchObject({ status: 403, body: { code: 'INSUFFICIENT_SCOPE' } });
  expect((await count('shop')).status).toBe(200);
});
