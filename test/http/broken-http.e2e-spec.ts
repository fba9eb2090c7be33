import { expectProblem } from '../support/problems.js';
import { sendBytes, sendRaw } from '../support/raw-http.js';
import { type TestResponse, useTestApp } from '../support/test-app.js';

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
      const allowed = [...documented, ...(documented.includes('GET') ? ['HEAD'] : [])].sort();
      const path = template.replace('{id}', '665f1c2ab7e3a90d4c8b4567');
      for (const method of METHODS.filter((name) => !allowed.includes(name))) {
        const response = await sendRaw(app.url, { method, path });
        const allow = allowed.join(', ');
        const detail = `${method} is not possible on this path. Allowed: ${allow}.`;
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
  it.each([
    '/nothing',
    '/todo',
    '/todos/665f1c2ab7e3a90d4c8b4567/more',
    '/posts',
    '/api/posts',
    '/.env',
    '/docs/../package.json',
  ])('is a 404: %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expectProblem(await sendRaw(app.url, { method, path }), {
        status: 404,
        code: 'PATH_NOT_FOUND',
        detail: 'There is no such path. See /docs for those that exist.',
        instance: path,
      });
    }
  });
});

describe('bytes that are not HTTP', () => {
  const host = 'Host: localhost\r\nConnection: close\r\n';
  const type = 'Content-Type: application/json\r\n';
  const body = '{"title":"x"}';

  it.each<[string, string]>([
    ['noise', '\u0000\u0001\u0002\r\n\r\n'],
    ['another protocol', 'SSH-2.0-client\r\n\r\n'],
    ['an unknown method', `STEAL /todos HTTP/1.1\r\n${host}\r\n`],
    ['an unknown version', `GET /todos HTTP/9.9\r\n${host}\r\n`],
    ['HTTP/0.9', 'GET /todos\r\n\r\n'],
    ['version 0.9', `GET /todos HTTP/0.9\r\n${host}\r\n`],
    ['two Hosts', `GET /todos HTTP/1.1\r\n${host}Host: elsewhere\r\n\r\n`],
    ['a Host with a user', 'GET /todos HTTP/1.1\r\nHost: a@localhost\r\nConnection: close\r\n\r\n'],
    ['a Host with a path', 'GET /todos HTTP/1.1\r\nHost: localhost/x\r\nConnection: close\r\n\r\n'],
    [
      'two tokens',
      `GET /todos HTTP/1.1\r\n${host}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`,
    ],
    ['no Host', 'GET /todos HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a space in the path', `GET /to dos HTTP/1.1\r\n${host}\r\n`],
    ['a header without a colon', `GET /todos HTTP/1.1\r\n${host}Broken\r\n\r\n`],
    ['a NUL in a header', `GET /todos HTTP/1.1\r\n${host}X: a\u0000b\r\n\r\n`],
    ['a negative length', `POST /todos HTTP/1.1\r\n${host}${type}Content-Length: -1\r\n\r\n${body}`],
    ['a length that is no number', `POST /todos HTTP/1.1\r\n${host}${type}Content-Length: 1x\r\n\r\n${body}`],
    [
      'two lengths',
      `POST /todos HTTP/1.1\r\n${host}${type}Content-Length: 13\r\nContent-Length: 5\r\n\r\n${body}`,
    ],
    [
      'a length and chunks',
      `POST /todos HTTP/1.1\r\n${host}${type}Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n${body}\r\n0\r\n\r\n`,
    ],
    [
      'a chunk of no size',
      `POST /todos HTTP/1.1\r\n${host}${type}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n`,
    ],
    [
      'a compressed transfer',
      `POST /todos HTTP/1.1\r\n${host}${type}Transfer-Encoding: gzip, chunked\r\n\r\nd\r\n${body}\r\n0\r\n\r\n`,
    ],
    [
      'an unknown transfer encoding',
      `POST /todos HTTP/1.1\r\n${host}${type}Transfer-Encoding: evil\r\n\r\n${body}`,
    ],
  ])('are a client error, and the service goes on: %s', async (_name, bytes) => {
    expectClientError(await sendBytes(app.url, bytes));
    expect((await app.get('/health/live')).status).toBe(200);
  });

  function expectClientError(response: TestResponse): void {
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
  }
});
