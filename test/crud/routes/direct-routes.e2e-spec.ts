import { APP_GUARD } from '@nestjs/core';
import { appWith } from '../../support/app-with.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

const ALLOW = { canActivate: () => true };

describe('a generated route without a chain of its own', () => {
  const ID = /[0-9a-f]{24}/g;
  const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
  /** Differ from one request to the next. */
  const PASSING = ['date', 'connection', 'keep-alive'];
  let direct: TestApp;
  let chained: TestApp;
  const ids: Record<'todos' | 'posts/api', string[]> = { todos: [], 'posts/api': [] };
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    const env = {
      MONGODB_URI: freshDatabaseUri(),
      CORS_ORIGINS: 'https://a.example.com',
      // One caller's token is forged.
      RATE_LIMIT_BAD_TOKENS: '0',
    };
    direct = await createTestApp({ env });
    // A guard that lets everything pass changes nothing but the way.
    chained = await appWith([{ provide: APP_GUARD, useValue: ALLOW }], env);
    const own = await tokenOf(ACME);
    const [foreign, none] = [await tokenOf(GLOBEX), await tokenOf(undefined)];
    Object.assign(tokens, { own, foreign, none, forged: `${own}x` });
    for (const [path, list] of Object.entries(ids)) {
      for (const title of ['a "quoted" one', '\ud83d\ude00\u2028 emoji', 'plain']) {
        const { body } = await direct.post(`/${path}`, { title }, { token: tokens.own });
        list.push((body as { _id: string })._id);
      }
    }
  });
  afterAll(async () => {
    await chained.leave();
    await direct.close();
  });

  /** What a client can see of an answer. */
  async function seen(app: TestApp, method: string, path: string, init: RequestInit): Promise<object> {
    const headers = { 'X-Request-Id': 'same', ...(init.headers as object) };
    const response = await fetch(app.url + path, { ...init, method, headers });
    const text = await response.text();
    const isRead = method === 'GET' || method === 'HEAD';
    const neutral = (said: string) => (isRead ? said : said.replaceAll(ID, 'ID').replaceAll(TIME, 'TIME'));
    return {
      status: response.status,
      headers: [...response.headers]
        .filter(([name]) => !PASSING.includes(name))
        .map(([name, value]) => [name, neutral(value)]),
      text: neutral(text),
    };
  }

  const READS = [
    '',
    '?limit=2',
    '?limit=2&offset=1&fields=title',
    '?limit=1&sort=title&count=none',
    '?limit=2&title[contains]=PLAIN',
    '?limit=2&q=plain',
    '?limit=0',
    '?limit=1&limit=2',
    '?limit=2&nothing=1',
    '?limit=2&after=forged',
    '?limit=%ff',
    '?offset=9',
    '/count',
    '/count?title=plain',
    '/count?x=1',
    '/ID',
    '/ID?fields=title,createdAt',
    '/ID?fields=nothing',
    '/ID?fields=title&fields=title',
    '/ID?archived=include',
    '?limit=2&archived=include',
    '/OTHER',
    '/665f1c2ab7e3a90d4c8b4567',
    '/not-an-id',
    '/',
    '/%36',
  ];
  const HEADERS: Record<string, string>[] = [
    {},
    { Accept: 'application/x-ndjson' },
    { Accept: 'application/json', Origin: 'https://a.example.com' },
    { 'If-None-Match': '"0"' },
    { 'If-None-Match': 'W/"1", "7"' },
    { 'If-None-Match': 'broken' },
  ];

  it.each(['todos', 'posts/api'] as const)('answers reads of %s as the chain does', async (resource) => {
    const [first = '', second = ''] = ids[resource];
    // Todos ask nobody for a token.
    const callers = resource === 'todos' ? [undefined] : [undefined, ...Object.values(tokens)];
    for (const read of READS) {
      const path = `/${resource}${read.replace('OTHER', second.toUpperCase()).replace('ID', first)}`;
      for (const headers of HEADERS) {
        for (const token of callers) {
          const init = { headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) } };
          const [one, other] = await Promise.all(
            [direct, chained].map((app) => seen(app, 'GET', path, init)),
          );
          expect({ path, init, ...one }).toEqual({ path, init, ...other });
        }
      }
    }
  });

  it.each(['todos', 'posts/api'] as const)('answers writes of %s as the chain does', async (resource) => {
    const representation = { Prefer: 'return=representation' };
    const key = { 'Idempotency-Key': 'one' };
    const requests: [method: string, path: string, body: unknown, headers?: Record<string, string>][] = [
      ['POST', '', { title: 'new' }],
      ['POST', '', { title: 'new' }, representation],
      ['POST', '', { title: 'new' }, key],
      ['POST', '', { title: '' }],
      ['POST', '', { title: 5, stray: true }],
      ['POST', '', undefined],
      ['POST', '?a=1', { title: 'new' }],
      ['POST', '', '{"__proto__": 1}'],
      ['PATCH', '/ID', { title: 'changed' }],
      ['PATCH', '/ID', { title: 'changed' }, representation],
      ['PATCH', '/ID', { title: null }],
      ['PATCH', '/ID', {}],
      ['PATCH', '/ID', { title: 'stale' }, { 'If-Match': '"99"' }],
      ['PATCH', '/ID', { title: 'odd' }, { 'If-Match': 'odd' }],
      ['PATCH', '/ID?a=1', { title: 'changed' }],
      ['PATCH', '/665f1c2ab7e3a90d4c8b4567', { title: 'nobody' }],
      ['PATCH', '/not-an-id', { title: 'nobody' }],
      ['DELETE', '/665f1c2ab7e3a90d4c8b4567', undefined],
      ['DELETE', '/ID', { said: 'something' }],
      ['DELETE', '/ID', undefined],
      ['HEAD', '/ID', undefined],
      ['PUT', '/ID', { title: 'x' }],
    ];
    for (const [method, path, body, headers] of requests) {
      for (const token of [undefined, ...Object.values(tokens)]) {
        const answers: object[] = [];
        for (const [i, app] of [direct, chained].entries()) {
          const made = await app.post(`/${resource}`, { title: 'mine' }, { token: tokens.own });
          const { _id } = made.body as { _id: string };
          const at = `/${resource}${path.replace('ID', _id)}`;
          const init = {
            headers: {
              ...(body !== undefined && { 'Content-Type': 'application/json' }),
              ...(token && { Authorization: `Bearer ${token}` }),
              ...headers,
              ...(headers === key && { 'Idempotency-Key': `${i}-${String(token).slice(-9)}` }),
            },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          };
          answers.push(await seen(app, method, at, init));
        }
        expect({ method, path, body, token, ...answers[0] }).toEqual({
          method,
          path,
          body,
          token,
          ...answers[1],
        });
      }
    }
  });

  it('returns requested fields in the order of the document, without the revision and hidden fields', async () => {
    const id = String(ids.todos[2]);
    const { text } = await direct.get(`/todos/${id}?fields=completed,title`);
    expect(text).toBe(`{"_id":"${id}","title":"plain","completed":false}`);
  });
});
