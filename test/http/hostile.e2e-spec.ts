import { eventually } from '../support/eventually.js';
import { expectClientError, expectProblem } from '../support/problems.js';
import { type RawRequest, sendRaw } from '../support/raw-http.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const NESTED = 5_000;

/** Members that no create or update takes beside a title. */
const HOSTILE_MEMBERS = [
  ...['"__proto__":{"admin":true}', '"\\u005f_proto__":{"admin":true}', '"then":"x"', '"toJSON":{}'],
  ...['"constructor":{"prototype":{"admin":true}}', '"constructor":"x"', '"prototype":{}'],
  ...['"toString":"x"', '"hasOwnProperty":1', '"$set":{"tenant":"665f1c2ab7e3a90d4c8b0002"}'],
  ...['"$unset":{"title":1}', '"title.length":1', '"a.__v":1', '"tags.0":"x"', '"__v":9'],
  ...['"_id":"665f1c2ab7e3a90d4c8b0001"', '"createdAt":"2000-01-01T00:00:00Z"', '"":1'],
  ...['"title\\u0000":"y"', `"${'n'.repeat(900_000)}":1`, '"title":1'],
];

/** JSON of no title. */
const HOSTILE_TITLES = [
  ...['{"__proto__":{"length":1}}', '{"constructor":{"prototype":{"admin":true}}}', '["x"]', 'NaN', '1e999'],
  ...['{"_bsontype":"MinKey"}', '{"_bsontype":"ObjectId","id":"x"}', '{"$ne":1}', '{"$regex":"^"}'],
  ...[`"${'t'.repeat(900_000)}"`, `${'['.repeat(NESTED)}${']'.repeat(NESTED)}`, '"x\n"', '"\\ud800"'],
];

/** Texts that no create or update of any resource may take. */
const HOSTILE_BODIES = [
  ...HOSTILE_MEMBERS.map((member) => `{"title":"x",${member}}`),
  ...HOSTILE_TITLES.map((title) => `{"title":${title}}`),
  ...['[{"title":"x"}]', '[]', '"title"', '1', 'true', 'null', 'title', 'title=x', ' \n\t '],
  ...['{"$set":{"title":"x"}}', '{"$where":"sleep(1000)"}', '{"$rename":{"title":"tenant"}}'],
  ...['{"title":"x"', '{"title":"x",}', "{'title':'x'}", '{"title":"x"/**/}', '{"title":"x"}{"title":"y"}'],
  `{${Array.from({ length: 10_000 }, (_, i) => `"f${i}":1`).join()}}`,
  `${'{"title":'.repeat(NESTED)}1${'}'.repeat(NESTED)}`,
].map((body): [string, string] => [body.slice(0, 60), body]);

/** Content types that no path takes, each with a body that would be good JSON. */
const HOSTILE_TYPES = [
  ...['application/json\ta', 'application/json a', 'application/json, text/plain', 'application/json;;'],
  ...['latin1', 'utf-16', '"latin1"'].map((charset) => `application/json; charset=${charset}`),
  ...['application/json/x', 'application/jsonx', 'application/vnd.api+json', 'text/plain', 'text/json'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '*/*', 'json', '/'],
];

const around = (bytes: number[]) => Buffer.from([...Buffer.from('{"title":"a'), ...bytes, 0x22, 0x7d]);

/** Bodies whose bytes are not UTF-8. */
const NOT_UTF8: [name: string, body: Buffer][] = [
  ['a stray continuation byte', around([0x80])],
  ['a sequence cut short', around([0xe2, 0x82])],
  ['an overlong slash', around([0xc0, 0xaf])],
  ['a surrogate in UTF-8', around([0xed, 0xa0, 0x80])],
  ['beyond Unicode', around([0xf4, 0x90, 0x80, 0x80])],
  ['latin1', Buffer.from('{"title":"caf\u00e9"}', 'latin1')],
  ['UTF-16', Buffer.from('{"title":"x"}', 'utf16le')],
];

describe.each([
  ['generated', ['/todos', '/posts/api']],
  ['handwritten', ['/todos']],
])('hostile input, todos %s', (form, paths) => {
  const app = useTestApp({ env: { TODOS_API: form, LOG_LEVEL: 'error' } });
  const token = tokenOf(ACME);
  /** One record of each resource, by the path of its collection. */
  const ids: Record<string, string> = {};
  let before: unknown;

  beforeAll(async () => {
    for (const path of paths) ids[path] = (await app.post(path, { title: 'Stands' }, { token })).body._id;
    // The event of the post is recorded, and settled, in the background.
    const announced = paths.filter((path) => path.startsWith('/posts')).length;
    await eventually(async () => {
      expect(await app.database.collection('events').countDocuments()).toBe(announced);
      expect(await app.database.collection('posts').countDocuments({ _outbox: { $exists: true } })).toBe(0);
    });
    before = await snapshot();
  });
  afterEach(() => expect(({} as Record<string, unknown>).admin).toBeUndefined());

  /** After each group of requests: what is stored is what was stored before the first. */
  const changesNothing = async () => expect(await snapshot()).toEqual(before);

  async function snapshot() {
    const collections = await app.database.collections();
    const contents = collections.map(async (one) => [one.collectionName, await one.find().toArray()]);
    return Object.fromEntries(await Promise.all(contents)) as object;
  }

  const raw = (request: RawRequest) =>
    sendRaw(app.url, { ...request, headers: { Authorization: `Bearer ${token}`, ...request.headers } });

  const json = { 'Content-Type': 'application/json' };
  const GOOD = '{"title":"x"}';

  describe.each(paths.flatMap((path) => ['POST', 'PATCH'].map((method) => [method, path] as const)))(
    '%s %s',
    (method, path) => {
      const target = () => (method === 'POST' ? path : `${path}/${ids[path]}`);
      afterAll(changesNothing);

      it.each(HOSTILE_BODIES)('refuses the body %j', async (_, body) => {
        expectClientError(await app.request(method, target(), { body, token }), 400);
      });

      it.each(HOSTILE_TYPES)('refuses the content type %j', async (type) => {
        const headers = { 'Content-Type': type };
        expectClientError(await raw({ method, path: target(), headers, body: GOOD }), 415);
      });

      it('refuses a body without a content type, and names the accepted ones', async () => {
        const allowed = `${method === 'PATCH' ? 'application/merge-patch+json or ' : ''}application/json`;
        const detail = `The content type must be ${allowed}.`;
        const problem = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', detail, instance: target() };
        expectProblem(await raw({ method, path: target(), body: GOOD }), problem);
      });

      it.each(NOT_UTF8)('refuses bytes that are not UTF-8: %s', async (_name, body) => {
        expectClientError(await raw({ method, path: target(), headers: json, body }), 400);
      });

      it('refuses a body over the limit, announced or in pieces', async () => {
        const body = JSON.stringify({ title: 'x', description: 'd'.repeat(1_048_576) });
        const detail = 'The body is larger than 1048576 bytes. Send less at a time.';
        const large = { status: 413, code: 'BODY_TOO_LARGE', detail, instance: target() };
        expectProblem(await app.request(method, target(), { body, token }), large);
        const headers = { ...json, 'Content-Length': '99999999' };
        expectProblem(await raw({ method, path: target(), headers, body: '{' }), large);
      });

      it.each(['$ne=1', 'title[$ne]=x', '__proto__[a]=1', 'constructor=1', 'filter={}', '=1', 'a&a&a'])(
        'refuses the query %s',
        async (query) => {
          const path = `${target()}?${query}`;
          expectClientError(await raw({ method, path, headers: json, body: GOOD }), 400);
        },
      );
    },
  );

  describe.each(paths)('paths of %s', (path) => {
    afterAll(changesNothing);
    const TRICKY = ['%2e%2e%2fposts%2fapi', `${'0'.repeat(24)}%00`, '0'.repeat(12), '０'.repeat(24)];
    const ODD =
      '[$ne]=1 $ne %5B%24ne%5D=1 {"$ne":1} %7B%22$ne%22:1%7D __proto__ constructor null * . .. %2e%2e';
    const ENCODED = '..%5c.. %00 %0a %ff % %zz %E0%A4%A ;x=1';
    const LONG = ['%20', '%0a', '.json'].map((end) => `${'a'.repeat(24)}${end}`);

    it.each([
      ...[...TRICKY, ...ODD.split(' '), ...ENCODED.split(' '), ...LONG],
      ...['a'.repeat(101), 'a'.repeat(5_000)],
    ])('%s is no id', async (id) => {
      for (const method of ['GET', 'DELETE', 'PATCH']) {
        const sent = method === 'PATCH' && { headers: json, body: GOOD };
        expectClientError(await raw({ method, path: `${path}/${id}`, ...sent }), 400, 404, 414);
      }
    });

    it('an extra, doubled, encoded or reversed slash leads nowhere', async () => {
      const id = ids[path];
      const between = ['//', '%2f', '%2F', '\\', '%5C', '/./', '/x/../'].map((slash) => path + slash + id);
      const paths = [`${path}/`, `/${path}`, `${path}/${id}/`, `/.${path}/${id}`, `${path}/${id}%2f`];
      for (const candidate of [...between, ...paths, path.toUpperCase(), `${path};a=b`])
        for (const method of ['GET', 'DELETE'])
          expectClientError(await raw({ method, path: candidate }), 400, 404);
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
