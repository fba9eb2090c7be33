import { expectInvalid } from '../../support/problems.js';
import { createResourceApp } from '../../support/resource-app.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';
import { feature } from '../../support/resource.js';

const ACCEPT = 'application/x-ndjson';
const NDJSON = { headers: { Accept: ACCEPT } };
const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8';
const VARY = 'Accept, Accept-Encoding';
const JSON_TYPE = 'application/json; charset=utf-8';

describe('a list as NDJSON', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  const create = async (...titles: string[]) => {
    for (const title of titles) await app.post('/todos', { title });
  };
  /** The answer to a request with this header or none. */
  const received = (accept?: string) =>
    app.get('/todos', { headers: accept === undefined ? {} : { Accept: accept } });
  const titlesOf = ({ body }: { body: { title: string }[] }) => body.map(({ title }) => title);

  it('has one record per line, each with a line break at its end', async () => {
    await create('Tea', 'Coffee\nwith milk');
    const { status, headers, text, body } = await app.get('/todos', NDJSON);
    const [type, vary, link] = ['content-type', 'vary', 'link'].map((name) => headers.get(name));
    expect([status, type, vary, link]).toEqual([200, NDJSON_TYPE, VARY, null]);
    const todos = (await app.get('/todos')).body as object[];
    expect(text).toBe(todos.map((todo) => `${JSON.stringify(todo)}\n`).join(''));
    expect(titlesOf({ body })).toEqual(['Coffee\nwith milk', 'Tea']);
    const head = await app.request('HEAD', '/todos', NDJSON);
    const ofHead = ['content-type', 'vary'].map((name) => head.headers.get(name));
    expect([head.status, ...ofHead, head.text]).toEqual([200, NDJSON_TYPE, VARY, '']);
  });

  it('of no record has an empty body', async () => {
    const { status, headers, text } = await app.get('/todos', NDJSON);
    expect([status, headers.get('content-type'), text]).toEqual([200, NDJSON_TYPE, '']);
  });

  it('takes filters, orders and fields', async () => {
    await create('Tea', 'Coffee', 'Toast');
    const { text } = await app.get('/todos?title[startsWith]=t&sort=title&fields=title', NDJSON);
    const lines = text.replace(/[0-9a-f]{24}/g, 'id');
    expect(lines).toBe('{"_id":"id","title":"Tea"}\n{"_id":"id","title":"Toast"}\n');
  });

  it('has the records of a page, and its links', async () => {
    await create('One', 'Two', 'Three');
    const page = await app.get('/todos?offset=1&limit=1', NDJSON);
    expect(page.headers.get('content-type')).toBe(NDJSON_TYPE);
    expect(titlesOf(page)).toEqual(['Two']);
    const { headers } = await app.get('/todos?offset=1&limit=1');
    expect(page.headers.get('link')).toBe(headers.get('link'));
    expect(page.headers.get('link')).toContain('rel="next"');
    expect((await app.get('/todos?offset=9&limit=1', NDJSON)).text).toBe('');
  });

  it('refuses as every list does, with a problem', async () => {
    const fault = { parameter: 'limit', detail: '"limit" must be a whole number from 1 to 100.' };
    expectInvalid(await app.get('/todos?limit=0', NDJSON), '/todos', fault);
  });

  it.each([
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['APPLICATION/X-NDJSON', NDJSON_TYPE],
    ['application/x-ndjson, application/json', JSON_TYPE],
    ['application/json;q=0.5, application/x-ndjson', NDJSON_TYPE],
    ['application/x-ndjson;q=0.001, application/json;q=0', NDJSON_TYPE],
    ['*/*, application/x-ndjson;q=0.9', JSON_TYPE],
    ['*/*;q=0.5, application/json;q=0.1', NDJSON_TYPE],
    ['*/*, application/*;q=0.2, application/json;q=0.1', 'text/csv; charset=utf-8'],
    ['application/x-ndjson ; q=0.9 , text/html', NDJSON_TYPE],
    ['application/x-ndjson;q=0', JSON_TYPE],
    ['application/x-ndjson;q=2', JSON_TYPE],
    ['text/plain;note="a, application/x-ndjson, \\" b"', JSON_TYPE],
    ['application/x-ndjson;note="a;q=0"', NDJSON_TYPE],
    ['text/html', JSON_TYPE],
    [',;,/;=', JSON_TYPE],
  ])('for Accept: %s', async (accept, type) => {
    const { status, headers } = await received(accept);
    expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([200, type, VARY]);
  });

  it.each(['"', '"\\"', ',', ';q', '\\'])('is negotiated with a long header of %s', async (text) => {
    expect((await received(text.repeat(12_000 / text.length))).status).toBe(200);
  });

  it('is not available for one record, or a count', async () => {
    const { body } = await app.post('/todos', { title: 'Tea' });
    for (const path of [`/todos/${body._id}`, '/todos/count']) {
      const { headers } = await app.get(path, NDJSON);
      expect([headers.get('content-type'), headers.get('vary')]).toEqual([JSON_TYPE, null]);
    }
  });
});

it('a list of pages only gives the first page as NDJSON', async () => {
  const list = { unpaged: false, maxLimit: 2 };
  await using app = await createResourceApp(feature({ name: 'logs', list }));
  for (const text of ['one', 'two', 'three']) await app.post('/logs', { text });
  const { headers, body } = await app.get('/logs', NDJSON);
  expect(body.map(({ text }: { text: string }) => text)).toEqual(['three', 'two']);
  expect(headers.get('link')).toContain('rel="next"');
});

it.each([
  ['generated', `Origin, ${VARY}`, NDJSON_TYPE],
  ['handwritten', 'Origin, Accept-Encoding', JSON_TYPE],
])('%s todos: an answer depends on the origin, too, if CORS is on', async (form, vary, type) => {
  const ofOrigin = { Origin: 'https://a.example.com', Accept: ACCEPT };
  await using app = await createTestApp({ env: { CORS_ORIGINS: ofOrigin.Origin, TODOS_API: form } });
  const { headers, body } = await app.get('/todos', { headers: ofOrigin });
  // The hand-written form has JSON only.
  expect([headers.get('vary'), headers.get('content-type'), body]).toEqual([vary, type, []]);
  const created = await app.post('/todos', { title: 'Tea' }, { headers: ofOrigin });
  expect(created.headers.get('vary')).toBe('Origin, Prefer');
});
