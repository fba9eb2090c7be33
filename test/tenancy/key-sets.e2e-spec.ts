/** @slow */
import { generateKeyPairSync, sign } from 'node:crypto';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import {
  type IssuerKey,
  issuerKey,
  issuerToken,
  type KeyServer,
  startKeyServer,
} from '../support/key-server.js';
import { expectInvalidToken, expectNoTenant, expectProblem } from '../support/problems.js';
import { ACME, acme, forgedToken, GLOBEX, goodClaims, inSeconds, tokenOf } from '../support/tenants.js';
import { createTestApp, type TestApp, type TestResponse, useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';
const POST = { title: 'Release notes' };

const write = (app: TestApp, token: string) => app.post(PATH, POST, { token });
const refused = async (app: TestApp, token: string) => expectInvalidToken(await write(app, token), PATH);

const keys = await Promise.all(['RS256', 'ES256', 'EdDSA', 'ES384', 'PS256'].map((alg) => issuerKey(alg)));
const key = (name: string) => keys.find(({ alg }) => alg === name) as IssuerKey;
const [foreign, next] = [await issuerKey('RS256'), await issuerKey('ES256', 'next')];
const weak = weakKey();

/** No library signs with 1,024 bits. */
function weakKey() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  const input = forgedToken({ alg: 'RS256', kid: 'weak' }, goodClaims(), { hash: null }).slice(0, -1);
  const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url');
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256', use: 'sig' };
  return { jwk, token: `${input}.${signature}` };
}

/** A key set, and a service that asks for it: of all the tests around, or of each. */
function useKeySet(start = beforeEach, stop = afterEach) {
  const set = {} as { app: TestApp; server: KeyServer };
  start(async () => {
    const server = await startKeyServer([...keys, weak]);
    Object.assign(set, { server, app: await createTestApp({ env: { JWT_JWKS_URL: server.url } }) });
  });
  stop(async () => {
    await set.app.close();
    await set.server.stop();
  });
  return set;
}

describe('tokens of a key set', () => {
  const set = useKeySet(beforeAll, afterAll);
  beforeEach(() => set.app.empty());

  it.each(['RS256', 'ES256', 'EdDSA'])('are accepted when signed with %s', async (alg) => {
    const { status, body } = await write(set.app, await issuerToken(key(alg), { tenant: GLOBEX }));
    expect(status).toBe(201);
    expect((await set.app.get(`${PATH}/${body._id}`)).body.tenant).toBe(GLOBEX);
  });

  it('may have any audience unless JWT_AUDIENCE is set, and come by http; the log warns of both at the start', () => {
    const warnings = set.app.logLines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    expect(warnings).toEqual([
      'Neither JWT_AUDIENCE nor tokens.audience is set: tokens that were issued for other applications are accepted',
      'The keys come from an http URL: keep the way to the key server out of the reach of others, or use https',
    ]);
  });

  it('are verified with one fetch of the key set, not one per request', async () => {
    await write(set.app, await issuerToken(key('RS256')));
    const fetched = set.server.asked.length;
    for (const alg of ['RS256', 'ES256', 'EdDSA']) await write(set.app, await issuerToken(key(alg)));
    expect(set.server.asked.length).toBe(fetched);
  });

  it.each<[string, () => string | Promise<string>]>([
    ['with a key that is not in the set', () => issuerToken(foreign)],
    ['with a key id that is not in the set', () => issuerToken(foreign, {}, { kid: 'unknown' })],
    ['with PS256, though the set has such a key', () => issuerToken(key('PS256'))],
    ['with ES384, though the set has such a key', () => issuerToken(key('ES384'))],
    ['with HS256 and any secret', () => tokenOf(ACME)],
    ['with alg none', () => forgedToken({ alg: 'none', kid: 'RS256' }, goodClaims(), { hash: null })],
    ['without exp', () => issuerToken(key('ES256'), { exp: undefined })],
    ['and expired', () => issuerToken(key('ES256'), { exp: inSeconds(-45) })],
    ['and valid only later', () => issuerToken(key('ES256'), { nbf: inSeconds(45) })],
    ['with a key id that is a number', () => forgedToken({ alg: 'RS256', kid: 1 })],
    ['with the key id of another type of key', () => forgedToken({ alg: 'RS256', kid: 'ES256' })],
    ['with a key of the set that is too weak', () => weak.token],
    ['with crit', () => issuerToken(key('RS256'), {}, { crit: ['acme'], acme: true })],
  ])('are refused when signed %s', async (_name, token) => {
    await refused(set.app, await token());
    expect((await set.app.get(PATH)).body).toEqual([]);
  });

  it.each(['sha256', 'sha384'])(
    'are refused when signed with a public key as the secret (%s)',
    async (hash) => {
      const { jwk } = key('RS256');
      const pem = await exportSPKI((await importJWK(jwk, 'RS256', { extractable: true })) as CryptoKey);
      const alg = hash.replace('sha', 'HS');
      const secrets = [pem, pem.trim(), JSON.stringify(jwk), Buffer.from(jwk.n ?? '', 'base64url')];
      for (const secret of secrets) {
        for (const kid of [undefined, 'RS256'])
          await refused(set.app, forgedToken({ alg, kid }, goodClaims(), { hash, secret }));
      }
    },
  );

  it('are refused when they bring their own key, whose address is never asked', async () => {
    const attackers = await startKeyServer([foreign]);
    const headers = [
      { jwk: foreign.jwk },
      { jku: attackers.url },
      { x5u: attackers.url, x5c: ['MIIB'] },
      { jku: attackers.url, jwk: foreign.jwk, kid: 'unknown' },
    ];
    for (const header of headers) await refused(set.app, await issuerToken(foreign, {}, header));
    expect(attackers.asked).toEqual([]);
    await attackers.stop();
  });

  it('are a 403 without a tenant', async () => {
    for (const tenant of [undefined, [ACME], { $ne: null }])
      expectNoTenant('tenant')(await write(set.app, await issuerToken(key('ES256'), { tenant })), PATH);
  });
});

const FAULTS = Object.entries<(server: KeyServer) => void | Promise<void>>({
  'nobody listens': (server) => server.stop(),
  'the server fails': (server) => server.answer(500, 'broken'),
  'the server knows no such path': (server) => server.answer(404, '{}'),
  'the answer is not JSON': (server) => server.answer(200, '<html>'),
  'the answer is no key set': (server) => server.answer(200, '{"keys":"none"}'),
  'the answer is larger than 1 MB': (server) => server.answer(200, `{"keys":[]}${' '.repeat(1_100_000)}`),
  'the server hangs': (server) => server.hang(),
});
const token = await issuerToken(key('ES256'));

describe('an unavailable key set', () => {
  const set = useKeySet();

  function expectUnavailable(response: TestResponse): void {
    const detail = 'The keys that verify tokens cannot be fetched. Try again later.';
    expectProblem(response, { status: 503, code: 'AUTHENTICATION_UNAVAILABLE', detail, instance: PATH });
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(response.headers.get('www-authenticate')).toBeNull();
  }

  it.each(FAULTS)('is a 503 of its own, and reads go on: %s', async (_name, breakIt) => {
    await breakIt(set.server);
    expectUnavailable(await write(set.app, token));
    expect((await set.app.get(PATH)).body).toEqual([]);
    expect((await set.app.get('/health/live')).status).toBe(200);
  });

  it('is still a 401 if no token is sent', async () => {
    set.server.answer(500, 'broken');
    expect((await set.app.post(PATH, POST)).status).toBe(401);
  });

  it('is used as soon as it is back', async () => {
    set.server.answer(500, 'broken');
    expectUnavailable(await write(set.app, token));
    set.server.serve(keys);
    expect((await write(set.app, token)).status).toBe(201);
  });
});

describe('a fetched key set', () => {
  const MINUTES = 60_000;
  const { now } = Date;
  const set = useKeySet();
  beforeEach(async () => expect((await write(set.app, token)).status).toBe(201));
  afterEach(() => void (Date.now = now));

  function later(ms: number): void {
    const before = Date.now;
    Date.now = () => before() + ms;
  }

  it.each(FAULTS)('is used for a day while it cannot be had anew: %s', async (_name, breakIt) => {
    await breakIt(set.server);
    later(11 * MINUTES);
    for (let i = 0; i < 3; i++) expect((await write(set.app, token)).status).toBe(201);
    later(23 * 60 * MINUTES);
    expect((await write(set.app, token)).status).toBe(201);
    later(2 * 60 * MINUTES);
    expect((await write(set.app, token)).status).toBe(503);
  });

  it('is fetched again after ten minutes, so that a withdrawn key is refused', async () => {
    set.server.serve([next]);
    expect((await write(set.app, token)).status).toBe(201);
    later(11 * MINUTES);
    await refused(set.app, token);
  });

  it('is fetched again at once for an unknown key, but not for each token', async () => {
    set.server.serve([next]);
    later(2_000);
    expect((await write(set.app, await issuerToken(next))).status).toBe(201);
    const fetched = set.server.asked.length;
    const kids = Array.from({ length: 20 }, (_, i) => `made-up-${i}`);
    await Promise.all(kids.map(async (kid) => refused(set.app, await issuerToken(next, {}, { kid }))));
    expect(set.server.asked.length).toBeLessThan(fetched + kids.length);
  });
});

describe('a configured issuer, audience and claim', () => {
  const CLAIM = 'https://example.com/tenant';
  const GOOD = { iss: 'https://issuer.example', aud: 'posts-and-todos', tenant: GLOBEX, [CLAIM]: ACME };
  const app = useTestApp({
    env: { JWT_ISSUER: GOOD.iss, JWT_AUDIENCE: GOOD.aud, JWT_TENANT_CLAIM: CLAIM },
  });
  beforeEach(() => app.empty());

  it.each([{ aud: GOOD.aud }, { aud: ['others', GOOD.aud] }])('accepts the audience %j', async (claims) => {
    const { status, body } = await write(app, tokenOf(GLOBEX, { ...GOOD, ...claims }));
    expect(status).toBe(201);
    expect((await app.get(`${PATH}/${body._id}`)).body.tenant).toBe(ACME);
  });

  it.each<[string, object]>([
    ['another issuer', { iss: 'https://issuer.example.evil' }],
    ['an issuer that differs by a slash', { iss: `${GOOD.iss}/` }],
    ['an issuer that is an array', { iss: [GOOD.iss] }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'others' }],
    ['audiences without the configured one', { aud: ['others', 'posts'] }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
  ])('refuses %s', async (_name, claims) => {
    await refused(app, tokenOf(GLOBEX, { ...GOOD, ...claims }));
    expect((await app.get(PATH)).body).toEqual([]);
  });

  it.each([undefined, [ACME], { $ne: null }, 1])(
    'is a 403 where the configured claim is %j',
    async (tenant) => {
      expectNoTenant(CLAIM)(await write(app, tokenOf(ACME, { ...GOOD, [CLAIM]: tenant })), PATH);
      expect((await app.get(PATH)).body).toEqual([]);
    },
  );
});

it('a claim named like a member of every object is only the claim', async () => {
  await using app = await createTestApp({ env: { JWT_TENANT_CLAIM: 'constructor' } });
  expectNoTenant('constructor')(await write(app, acme), PATH);
  expect((await write(app, tokenOf(GLOBEX, { constructor: ACME }))).status).toBe(201);
});
