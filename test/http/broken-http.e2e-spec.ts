import { expectProblem } from '../support/problems.js';
import { sendBytes, sendRaw } from '../support/raw-http.js';
import { useTestApp } from '../support/test-app.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];

const app = useTestApp();
afterEach(async () => {
  expect(await app.database.collection('todos').countDocuments()).toBe(0);
});

describe('a method that a path does not have', () => {
  it('is a 405 with Allow, on every path of the document', async () => {
    const { paths } = (await app.get('/docs/openapi.json')).body as { paths: Record<string, object> };
    expect(Object.keys(paths)).toContain('/todos/{id}');
    for (const [template, operations] of Object.entries(paths)) {
      const documented = Object.keys(operations).map((name) => name.toUpperCase());
      // The document has the same as a POST.
      const queried = `${template}/query` in paths ? ['QUERY'] : [];
      const allowed = [...documented, ...queried, ...(documented.includes('GET') ? ['HEAD'] : [])].sort();
      const path = template.replace('{id}', '665f1c2ab7e3a90d4c8b4567');
      for (const method of METHODS.filter((name) => !allowed.includes(name))) {
        const response = await sendRaw(app.url, { method, path });
        const allow = allowed.join(', ');
        const detail = `${method} is not possible on this path. Allowed: ${allow}.`;
        if (method === 'OPTIONS') {
          expect([response.status, response.headers.get('allow')]).toEqual([
            204,
            [...allowed, 'OPTIONS'].sort().join(', '),
          ]);
          continue;
        }
        if (method === 'HEAD') expect([response.status, response.text]).toEqual([405, '']);
        else expectProblem(response, { status: 405, code: 'METHOD_NOT_ALLOWED', detail, instance: path });
        expect(response.headers.get('allow')).toBe(allow);
      }
    }
  });

  it('is not changed by an override header', async () => {
    const headers = { 'X-HTTP-Method-Override': 'DELETE', 'X-Method-Override': 'DELETE' };
    expect((await app.get('/todos', { headers })).body).toEqual([]);
  });
});

describe('a path that does not exist', () => {
  const OUTSIDE = ['/.env', '/docs/../package.json'];
  it.each(['/nothing', '/todo', '/todos/665f1c2ab7e3a90d4c8b4567/more', '/posts', '/api/posts', ...OUTSIDE])(
    'is a 404: %s',
    async (path) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        expectProblem(await sendRaw(app.url, { method, path }), {
          status: 404,
          code: 'PATH_NOT_FOUND',
          detail: 'There is no such path. See /docs for those that exist.',
          instance: path,
        });
      }
    },
  );
});

describe('bytes that are not HTTP', () => {
  const host = 'Host: localhost\r\nConnection: close\r\n';
  const body = '{"title":"x"}';

  const get = (rest: string, line = 'GET /todos HTTP/1.1') => `${line}\r\n${rest}\r\n`;
  const post = (head: string, sent = body) =>
    `POST /todos HTTP/1.1\r\n${host}Content-Type: application/json\r\n${head}\r\n\r\n${sent}`;
  const chunked = 'Transfer-Encoding: chunked';
  const chunk = `d\r\n${body}\r\n0\r\n\r\n`;

  it.each<[string, string]>([
    ['noise', '\u0000\u0001\u0002\r\n\r\n'],
    ['another protocol', 'SSH-2.0-client\r\n\r\n'],
    ['an unknown method', get(host, 'STEAL /todos HTTP/1.1')],
    ['an unknown version', get(host, 'GET /todos HTTP/9.9')],
    ['HTTP/0.9', 'GET /todos\r\n\r\n'],
    ['version 0.9', get(host, 'GET /todos HTTP/0.9')],
    ['two Hosts', get(`${host}Host: elsewhere\r\n`)],
    ['a Host with a user', get('Host: a@localhost\r\nConnection: close\r\n')],
    ['a Host with a path', get('Host: localhost/x\r\nConnection: close\r\n')],
    ['two tokens', get(`${host}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n`)],
    ['no Host', get('Connection: close\r\n')],
    ['a space in the path', get(host, 'GET /to dos HTTP/1.1')],
    ['a header without a colon', get(`${host}Broken\r\n`)],
    ['a NUL in a header', get(`${host}X: a\u0000b\r\n`)],
    ['a negative length', post('Content-Length: -1')],
    ['a length that is no number', post('Content-Length: 1x')],
    ['two lengths', post('Content-Length: 13\r\nContent-Length: 5')],
    ['a length and chunks', post(`Content-Length: 13\r\n${chunked}`, chunk)],
    ['a chunk of no size', post(chunked, chunk.replace('d', 'zz'))],
    ['a compressed transfer', post('Transfer-Encoding: gzip, chunked', chunk)],
    ['an unknown transfer encoding', post('Transfer-Encoding: evil')],
  ])('are a client error, and the service goes on: %s', async (_name, bytes) => {
    const response = await sendBytes(app.url, bytes);
    expect((await app.get('/health/live')).status).toBe(200);
    expect(Math.floor(response.status / 100)).toBe(4);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.body).toEqual({
      type: expect.stringMatching(/^urn:problem:[a-z-]+$/),
      title: expect.any(String),
      status: response.status,
      detail: expect.any(String),
      instance: expect.any(String),
      code: expect.stringMatching(/^[A-Z_]+$/),
      message: response.body.detail,
      requestId: expect.stringMatching(/^[\w-]+$/),
    });
  });
});
