import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expectInvalid } from '../../support/problems.js';
import { createResourceApp } from '../../support/resource-app.js';
import { createTestApp, type TestApp, useTestApp } from '../../support/test-app.js';
import { feature } from '../../support/resource.js';

const ACCEPT = 'application/x-ndjson';
const NDJSON = { headers: { Accept: ACCEPT } };
const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

describe('a list as NDJSON', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  const create = async (...titles: string[]) => {
    for (const title of titles) await app.post('/todos', { title });
  };
  const titlesOf = ({ body }: { body: { title: string }[] }) => body.map(({ title }) => title);

  it('has one record per line, each with a line break at its end', async () => {
    await create('Tea', 'Coffee\nwith milk');
    const { status, headers, text, body } = await app.get('/todos', NDJSON);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe(NDJSON_TYPE);
    expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
    expect(headers.get('link')).toBeNull();
    expect(text).toBe(
      (await app.get('/todos')).body.map((todo: object) => `${JSON.stringify(todo)}\n`).join(''),
    );
    expect(titlesOf({ body })).toEqual(['Coffee\nwith milk', 'Tea']);
  });

  it('of no record has an empty body', async () => {
    const { status, headers, text } = await app.get('/todos', NDJSON);
    expect([status, headers.get('content-type'), text]).toEqual([200, NDJSON_TYPE, '']);
  });

  it('takes filters, orders and fields', async () => {
    await create('Tea', 'Coffee', 'Toast');
    const found = await fetch(`${app.url}/todos?title[startsWith]=t&sort=title&fields=title`, NDJSON);
    const text = await found.text();
    expect(text).toMatch(
      /^\{"_id":"[0-9a-f]{24}","title":"Tea"\}\n\{"_id":"[0-9a-f]{24}","title":"Toast"\}\n$/,
    );
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

  it('answers HEAD with the headers of GET', async () => {
    await create('Tea');
    const { status, headers, text } = await app.request('HEAD', '/todos', NDJSON);
    expect([status, headers.get('content-type'), headers.get('vary'), text]).toEqual([
      200,
      NDJSON_TYPE,
      'Accept, Accept-Encoding',
      '',
    ]);
  });

  it('refuses as every list does, with a problem', async () => {
    expectInvalid(await app.get('/todos?limit=0', NDJSON), '/todos', {
      parameter: 'limit',
      detail: '"limit" must be a whole number from 1 to 100.',
    });
  });

  it.each([
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/json', JSON_TYPE],
    ['APPLICATION/X-NDJSON', NDJSON_TYPE],
    ['application/x-ndjson, application/json', JSON_TYPE],
    ['application/json;q=0.5, application/x-ndjson', NDJSON_TYPE],
    ['application/json;q=0.5, application/x-ndjson;q=0.4', JSON_TYPE],
    ['application/x-ndjson;q=0.001, application/json;q=0', NDJSON_TYPE],
    ['application/x-ndjson;q=0.5, */*;q=0.1', NDJSON_TYPE],
    ['*/*, application/x-ndjson;q=0.9', JSON_TYPE],
    ['*/*;q=0.5, application/json;q=0.1', NDJSON_TYPE],
    ['*/*, application/*;q=0.2, application/json;q=0.1', 'text/csv; charset=utf-8'],
    ['application/x-ndjson ; q=0.9 , text/html', NDJSON_TYPE],
    ['application/x-ndjson;charset=utf-8', NDJSON_TYPE],
    ['application/x-ndjson;q=0', JSON_TYPE],
    ['application/x-ndjson;q=2', JSON_TYPE],
    ['application/x-ndjson;q=', JSON_TYPE],
    ['text/plain;note="a, application/x-ndjson, \\" b"', JSON_TYPE],
    ['application/x-ndjson;note="a;q=0"', NDJSON_TYPE],
    ['application/json;q=0, text/html', JSON_TYPE],
    ['text/html', JSON_TYPE],
    ['application/problem+json', JSON_TYPE],
    [',;,/;=', JSON_TYPE],
  ])('for Accept: %s', async (accept, type) => {
    const { status, headers } = await received(app, '/todos', accept === undefined ? {} : { Accept: accept });
    expect([status, headers['content-type'], headers.vary]).toEqual([200, type, 'Accept, Accept-Encoding']);
  });

  it.each(['"', '"\\"', ',', ';q', '\\'])('is negotiated with a long header of %s', async (text) => {
    const { status } = await received(app, '/todos', { Accept: text.repeat(12_000 / text.length) });
    expect(status).toBe(200);
  });

  it('is not available for one record, or a count', async () => {
    const { body } = await app.post('/todos', { title: 'Tea' });
    for (const path of [`/todos/${body._id}`, '/todos/count']) {
      const { headers } = await app.get(path, NDJSON);
      expect([headers.get('content-type'), headers.get('vary')]).toEqual([JSON_TYPE, null]);
    }
  });
});

/** A response to a request with these headers and no others; `fetch` adds an Accept of its own. */
async function received(app: TestApp, path: string, headers: Record<string, string>) {
  const [response] = (await once(request(app.url + path, { headers }).end(), 'response')) as [
    IncomingMessage,
  ];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, headers: response.headers };
}

it('a list of pages only gives the first page as NDJSON', async () => {
  const list = { unpaged: false, maxLimit: 2 };
  const app = await createResourceApp(feature({ name: 'logs', list }));
  try {
    for (const text of ['one', 'two', 'three']) await app.post('/logs', { text });
    const { headers, body } = await app.get('/logs', NDJSON);
    expect(body.map(({ text }: { text: string }) => text)).toEqual(['three', 'two']);
    expect(headers.get('link')).toContain('rel="next"');
  } finally {
    await app.close();
  }
});

it.each(['generated', 'handwritten'])(
  'an answer depends on the origin, too, if CORS is on: %s',
  async (form) => {
    const origin = 'https://a.example.com';
    const app = await createTestApp({ env: { CORS_ORIGINS: origin, TODOS_API: form } });
    try {
      const headers = { Origin: origin };
      const list = await app.get('/todos', { headers });
      expect(list.headers.get('vary')).toBe(
        form === 'generated' ? 'Origin, Accept, Accept-Encoding' : 'Origin, Accept-Encoding',
      );
      const created = await app.post('/todos', { title: 'Tea' }, { headers });
      expect(created.headers.get('vary')).toBe('Origin, Prefer');
    } finally {
      await app.close();
    }
  },
);

it('the hand-written form of the todo API has JSON only', async () => {
  const app = await createTestApp({ env: { TODOS_API: 'handwritten' } });
  try {
    const { headers, body } = await app.get('/todos', NDJSON);
    expect([headers.get('content-type'), body]).toEqual([JSON_TYPE, []]);
  } finally {
    await app.close();
  }
});
