import { sendBytes } from '../../support/raw-http.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

/** What Helmet 8 sends, with the policy of the explorer's page. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none';base-uri 'none';font-src 'self' https: data:;form-action 'self';" +
    "frame-ancestors 'none';img-src 'self' data:;object-src 'none';script-src 'self';" +
    "script-src-attr 'none';style-src 'self' 'unsafe-inline';connect-src 'self'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};

const token = tokenOf(ACME);

describe('every answer', () => {
  const app = useTestApp({ env: { CORS_ORIGINS: 'https://a.example.com' } });

  const preflight = (origin: string, target = app) =>
    fetch(`${target.url}/todos`, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });
  /** Which origin may call, as the answers to a preflight and to a read say. */
  const allowedBy = async (origin: string, target = app) => {
    const answers = [
      await preflight(origin, target),
      await target.get('/todos', { headers: { Origin: origin } }),
    ];
    return answers.map(({ headers }) => headers.get('access-control-allow-origin'));
  };

  it('lets pages of an allowed origin call it', async () => {
    const origin = 'https://a.example.com';
    const { status, headers } = await preflight(origin);
    const methods = headers.get('access-control-allow-methods');
    expect([status, methods]).toEqual([204, 'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE']);
    expect(await allowedBy(origin)).toEqual([origin, origin]);
    const got = await app.get('/todos', { headers: { Origin: origin } });
    expect(got.headers.get('access-control-expose-headers')).toContain('ETag');
  });

  it('does not let pages of other origins call it, or of any origin by default', async () => {
    await using closed = await createTestApp();
    expect(await allowedBy('https://b.example.com')).toEqual([null, null]);
    expect(await allowedBy('https://a.example.com', closed)).toEqual([null, null]);
  });

  it('sends the same security headers with every answer', async () => {
    const preflighted = await preflight('https://a.example.com', app);
    const malformed = await app.request('POST', '/todos', { body: '{' });
    const paths = ['/todos', '/todos?limit=1', '/nowhere', '/todos/1', '/docs/', '/docs/openapi.json'];
    const answers = await Promise.all(
      paths.map(async (path) => {
        const answer = await fetch(app.url + path);
        // An answer that nobody reads would hold up the end of the application.
        await answer.arrayBuffer();
        return answer;
      }),
    );
    const host = 'Host: localhost\r\n';
    const unread = await sendBytes(app.url, `GET /to dos HTTP/1.1\r\n${host}\r\n`);
    const unexpected = await sendBytes(app.url, `GET /todos HTTP/1.1\r\n${host}Expect: more\r\n\r\n`);
    expect([unread.status, unexpected.status]).toEqual([400, 417]);
    for (const { headers } of [preflighted, malformed, unread, unexpected, ...answers]) {
      const sent = Object.fromEntries(Object.keys(SECURITY_HEADERS).map((name) => [name, headers.get(name)]));
      expect(sent).toEqual(SECURITY_HEADERS);
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  it('keeps the request id of the client, and generates one if it is missing or malformed', async () => {
    const idOf = async (sent?: string) => {
      const { headers } = await app.get('/todos', { headers: sent ? { 'X-Request-Id': sent } : {} });
      return headers.get('x-request-id');
    };
    expect(await idOf('order-17.a_B')).toBe('order-17.a_B');
    const made = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const sent of [undefined, 'with space', 'x'.repeat(65), '{"a":1}'])
      expect(await idOf(sent)).toMatch(made);
  });

  it('logs nothing below LOG_LEVEL', async () => {
    await using quiet = await createTestApp({ env: { LOG_LEVEL: 'warn' } });
    await quiet.get('/todos');
    expect(quiet.logLines).toEqual([]);
  });

  // A 304 is asked for with the tag of a new record.
  it.each<[title: string, storing: string, requests: string[], token?: string]>([
    [
      'lets a cache store public reads if it revalidates each time',
      'no-cache',
      ['GET :todo 200', 'HEAD :todo 200', 'GET /todos 200', 'GET /posts/api?limit=1 200', 'GET :todo 304'],
    ],
    [
      'lets only the client store a read with a token, and only if it has an ETag',
      'private, no-cache',
      ['GET :post 200', 'GET :post 304'],
      token,
    ],
    [
      'lets nobody store a read with a token that has no ETag',
      'no-store',
      ['GET /posts/api?archived=include 200', 'GET /subscriptions 200'],
      token,
    ],
    [
      'lets nobody store an error, or the answer to a write',
      'no-store',
      [
        ...['POST /todos 201', 'PATCH :todo 200', 'DELETE :todo 200', 'GET :todo 404', 'GET /nothing 404'],
        'POST /posts/api 401',
      ],
    ],
  ])('%s', async (_title, storing, requests, ofRequests) => {
    const todo = `/todos/${await app.create('/todos', { title: 'x' })}`;
    const post = `/posts/api/${await app.create('/posts/api', { title: 'x' }, token)}`;
    for (const one of requests) {
      const [method = '', path = '', status] = one.replace(':todo', todo).replace(':post', post).split(' ');
      const body = method === 'POST' || method === 'PATCH' ? { title: 'y' } : undefined;
      const headers = status === '304' ? { 'If-None-Match': '"0"' } : undefined;
      const answer = await app.request(method, path, { token: ofRequests, body, headers });
      const got = [one, answer.status, answer.headers.get('cache-control')];
      expect(got).toEqual([one, Number(status), storing]);
    }
  });
});
