import { eventually } from '../support/eventually.js';
import { HOSTILE_BODIES, HOSTILE_TYPES, NOT_UTF8 } from '../support/hostile-bodies.js';
import { expectProblem } from '../support/problems.js';
import { type RawRequest, sendRaw } from '../support/raw-http.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { type TestResponse, useTestApp } from '../support/test-app.js';

const MEMBERS = ['type', 'title', 'status', 'detail', 'instance', 'code', 'message', 'requestId'];
const LEAKS = /mongo|bson|cast|stack|node_modules|\.js\b|\.ts\b|fastify|\bnest\b/i;

describe.each(['generated', 'handwritten'])('hostile input, todos %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form, LOG_LEVEL: 'error' } });
  const token = tokenOf(ACME);
  /** One record of each resource, by the path of its collection. */
  const ids: Record<string, string> = {};
  let before: unknown;

  beforeAll(async () => {
    for (const path of ['/todos', '/posts/api'])
      ids[path] = (await app.post(path, { title: 'Stands' }, { token })).body._id;
    // The event of the post is recorded, and settled, in the background.
    await eventually(async () => {
      expect(await app.database.collection('events').countDocuments()).toBe(1);
      expect(await app.database.collection('posts').countDocuments({ _outbox: { $exists: true } })).toBe(0);
    });
  });
  beforeEach(async () => {
    before = await snapshot();
  });
  afterEach(async () => {
    expect(await snapshot()).toEqual(before);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  async function snapshot() {
    const collections = await app.database.collections();
    const contents = collections.map(async (one) => [one.collectionName, await one.find().toArray()]);
    return Object.fromEntries(await Promise.all(contents)) as object;
  }

  const raw = (request: RawRequest) =>
    sendRaw(app.url, { ...request, headers: { Authorization: `Bearer ${token}`, ...request.headers } });

  /** A client error as problem+json (RFC 9457) that gives nothing of the inside away. */
  function expectClientError(response: TestResponse, ...statuses: number[]): void {
    expect(statuses).toContain(response.status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const { errors: _, ...members } = response.body;
    expect(Object.keys(members).sort()).toEqual([...MEMBERS].sort());
    expect(members).toMatchObject({ status: response.status, message: members.detail });
    expect(members.detail.replace(/"[^"]*"/g, '')).not.toMatch(LEAKS);
    expect(response.text.length).toBeLessThan(20_000);
  }

  const json = { 'Content-Type': 'application/json' };
  const GOOD = '{"title":"x"}';

  describe.each([
    ['POST', '/todos'],
    ['PATCH', '/todos'],
    ['POST', '/posts/api'],
    ['PATCH', '/posts/api'],
  ])('%s %s', (method, path) => {
    const target = () => (method === 'POST' ? path : `${path}/${ids[path]}`);

    it.each(Object.entries(HOSTILE_BODIES))('refuses a body with %s', async (_name, body) => {
      expectClientError(await app.request(method, target(), { body, token }), 400);
    });

    it.each(HOSTILE_TYPES)('refuses the content type %j', async (type) => {
      const headers = { 'Content-Type': type };
      expectClientError(await raw({ method, path: target(), headers, body: GOOD }), 415);
    });

    it('refuses a body without a content type, and names the accepted ones', async () => {
      const allowed = ['application/json'];
      if (method === 'PATCH') allowed.unshift('application/merge-patch+json');
      expectProblem(await raw({ method, path: target(), body: GOOD }), {
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
        detail: `The content type must be ${allowed.join(' or ')}.`,
        instance: target(),
      });
    });

    it.each(Object.entries(NOT_UTF8))('refuses bytes that are not UTF-8: %s', async (_name, body) => {
      expectClientError(await raw({ method, path: target(), headers: json, body }), 400);
    });

    it('refuses a body over the limit, announced or in pieces', async () => {
      const body = JSON.stringify({ title: 'x', description: 'd'.repeat(1_048_576) });
      const large = {
        status: 413,
        code: 'BODY_TOO_LARGE',
        detail: 'The body is larger than 1048576 bytes. Send less at a time.',
        instance: target(),
      } as const;
      expectProblem(await app.request(method, target(), { body, token }), large);
      const headers = { ...json, 'Content-Length': '99999999' };
      expectProblem(await raw({ method, path: target(), headers, body: '{' }), large);
    });

    it.each(['$ne=1', 'title[$ne]=x', '__proto__[a]=1', 'constructor=1', 'filter={}', '=1', 'a&a&a'])(
      'refuses the query %s',
      async (query) => {
        const path_ = `${target()}?${query}`;
        expectClientError(await raw({ method, path: path_, headers: json, body: GOOD }), 400);
      },
    );
  });

  describe.each(['/todos', '/posts/api'])('paths of %s', (path) => {
    const TRICKY = ['%2e%2e%2fposts%2fapi', `${'0'.repeat(24)}%00`, '0'.repeat(12), '０'.repeat(24)];
    const ODD =
      '[$ne]=1 $ne %5B%24ne%5D=1 {"$ne":1} %7B%22$ne%22:1%7D __proto__ constructor null * . .. %2e%2e';
    const ENCODED = '..%5c.. %00 %0a %ff % %zz %E0%A4%A ;x=1';
    const LONG = ['%20', '%0a', '.json'].map((end) => `${'a'.repeat(24)}${end}`);

    it.each([
      ...[...TRICKY, ...ODD.split(' '), ...ENCODED.split(' '), ...LONG],
      ...['a'.repeat(101), 'a'.repeat(5_000)],
    ])('%s is no id', async (id) => {
      const one = { path: `${path}/${id}` };
      for (const request of [
        { method: 'GET' },
        { method: 'DELETE' },
        { method: 'PATCH', headers: json, body: GOOD },
      ])
        expectClientError(await raw({ ...one, ...request }), 400, 404, 414);
    });

    it('an extra, doubled, encoded or reversed slash leads nowhere', async () => {
      const id = ids[path];
      const paths = [
        `${path}/`,
        `/${path}`,
        `${path}//${id}`,
        `${path}/${id}/`,
        `${path}%2f${id}`,
        `${path}%2F${id}`,
        `${path}\\${id}`,
        `${path}%5C${id}`,
        `${path}/./${id}`,
        `${path}/x/../${id}`,
        `/.${path}/${id}`,
        `${path}/${id}%2f`,
        path.toUpperCase(),
        `${path};a=b`,
      ];
      for (const candidate of paths) {
        for (const method of ['GET', 'DELETE'])
          expectClientError(await raw({ method, path: candidate }), 400, 404);
      }
    });

    const OPERATORS = 'title[$ne]=1 [$ne]=1 $where=1 limit[$gt]=1 limit[]=1 __proto__=1 __proto__[limit]=1';
    const NAMES = 'constructor=1 Limit=1 tenant=1 = % toString=1 sort=content offset=1&offset=2';
    const VALUES = 'limit=%00 limit=1%00 limit=1;offset=1 limit=%ff limit=%zz';

    it.each([
      ...[OPERATORS, NAMES, VALUES].flatMap((queries) => queries.split(' ')),
      `q=${'x'.repeat(5_000)}`,
    ])('the list refuses the query %s', async (query) => {
      expectClientError(await raw({ path: `${path}?${query}` }), 400);
    });

    it('an overlong path, query or header is a client error', async () => {
      const long = 'x'.repeat(100_000);
      expectClientError(await raw({ path: `${path}/${long}` }), 400, 414, 431);
      expectClientError(await raw({ path: `${path}?limit=${long}` }), 400, 414, 431);
      expectClientError(await raw({ path, headers: { 'X-Long': long } }), 431);
    });
  });
});
