import { decodeJwt } from 'jose';
import { sendBytes } from '../../support/raw-http.js';
import { SECURITY_HEADERS } from '../../support/security-headers.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

describe('every answer', () => {
  const app = useTestApp({ env: { CORS_ORIGINS: 'https://a.example.com' } });
  beforeEach(() => void (app.logLines.length = 0));

  const preflight = (origin: string, target = app) =>
    fetch(`${target.url}/todos`, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });

  it('lets pages of an allowed origin call it', async () => {
    const asked = await preflight('https://a.example.com');
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe('https://a.example.com');
    expect(asked.headers.get('access-control-allow-methods')).toBe(
      'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE',
    );
    const got = await app.get('/todos', { headers: { Origin: 'https://a.example.com' } });
    expect(got.headers.get('access-control-allow-origin')).toBe('https://a.example.com');
    expect(got.headers.get('access-control-expose-headers')).toContain('ETag');
  });

  it('does not let pages of other origins call it, or of any origin by default', async () => {
    const closed = await createTestApp();
    for (const [origin, target] of [
      ['https://b.example.com', app],
      ['https://a.example.com', closed],
    ] as const) {
      expect((await preflight(origin, target)).headers.get('access-control-allow-origin')).toBeNull();
      const got = await target.get('/todos', { headers: { Origin: origin } });
      expect(got.headers.get('access-control-allow-origin')).toBeNull();
    }
    await closed.close();
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
    const idOf = async (sent?: string) =>
      (await app.get('/todos', { headers: sent ? { 'X-Request-Id': sent } : {} })).headers.get(
        'x-request-id',
      );
    expect(await idOf('order-17.a_B')).toBe('order-17.a_B');
    const made = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const sent of [undefined, 'with space', 'x'.repeat(65), '{"a":1}']) {
      expect(await idOf(sent)).toMatch(made);
    }
  });

  it('logs one line per request, with its id and tenant, but not its query or token', async () => {
    const token = await tokenOf(ACME, { jti: 'unmistakable' });
    await app.get('/todos?limit=17', { headers: { 'X-Request-Id': 'first' } });
    await app.del(`/posts/api/${ACME}`, { token, headers: { 'X-Request-Id': 'second' } });
    const lines = app.logLines.filter(({ msg }) => msg === 'answered');
    const common = {
      level: 'info',
      time: expect.any(String),
      ms: expect.any(Number),
      msg: 'answered',
      status: 200,
    };
    expect(lines.filter(({ requestId }) => requestId === 'first')).toEqual([
      expect.objectContaining({ ...common, requestId: 'first', method: 'GET', path: '/todos' }),
    ]);
    expect(lines.filter(({ requestId }) => requestId === 'second')).toEqual([
      expect.objectContaining({
        ...common,
        requestId: 'second',
        method: 'DELETE',
        path: `/posts/api/${ACME}`,
        tenant: ACME,
      }),
    ]);
    const written = JSON.stringify(app.logLines);
    expect(written).not.toContain('limit=17');
    expect(written).not.toContain(token.split('.')[1]);
    expect(decodeJwt(token).jti).toBe('unmistakable');
  });

  it('logs nothing below LOG_LEVEL', async () => {
    const quiet = await createTestApp({ env: { LOG_LEVEL: 'warn' } });
    await quiet.get('/todos');
    expect(quiet.logLines).toEqual([]);
    await quiet.close();
  });
});
