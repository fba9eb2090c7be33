import { eventually } from '../support/eventually.js';
import { RawConnection, rawHead, sendBytes } from '../support/raw-http.js';
import { useTestApp } from '../support/test-app.js';

const app = useTestApp();

describe('bytes that are not HTTP', () => {
  const BODY = '{"title":"x"}';
  const CHUNKED = 'Transfer-Encoding: chunked';
  const CHUNK = `d\r\n${BODY}\r\n0\r\n\r\n`;
  const get = (line: string, ...headers: string[]) =>
    [line, 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n');
  const of = (...headers: string[]) => ['GET /todos HTTP/1.1', ...headers, '', ''].join('\r\n');
  const post = (headers: string[], sent = BODY) =>
    rawHead('POST /todos', 'Connection: close', 'Content-Type: application/json', ...headers) + sent;

  it.each<[string, string]>([
    ['noise', '\u0000\u0001\u0002\r\n\r\n'],
    ['an unknown method', get('STEAL /todos HTTP/1.1')],
    ['an unknown version', get('GET /todos HTTP/9.9')],
    ['HTTP/0.9', 'GET /todos\r\n\r\n'],
    ['two Hosts', get('GET /todos HTTP/1.1', 'Host: elsewhere')],
    ['a Host with a user', of('Host: a@localhost', 'Connection: close')],
    ['a Host with a path', of('Host: localhost/x', 'Connection: close')],
    ['two tokens', get('GET /todos HTTP/1.1', 'Authorization: Bearer a', 'Authorization: Bearer b')],
    ['no Host', of('Connection: close')],
    ['a space in the path', get('GET /to dos HTTP/1.1')],
    ['a header without a colon', get('GET /todos HTTP/1.1', 'Broken')],
    ['a NUL in a header', get('GET /todos HTTP/1.1', 'X: a\u0000b')],
    ['a negative length', post(['Content-Length: -1'])],
    ['a length that is no number', post(['Content-Length: 1x'])],
    ['two lengths', post(['Content-Length: 13', 'Content-Length: 5'])],
    ['a length and chunks', post(['Content-Length: 13', CHUNKED], CHUNK)],
    ['a chunk of no size', post([CHUNKED], CHUNK.replace('d', 'zz'))],
    ['a compressed transfer', post(['Transfer-Encoding: gzip, chunked'], CHUNK)],
    ['an unknown transfer encoding', post(['Transfer-Encoding: evil'])],
  ])('are a client error, and the service goes on: %s', async (_name, bytes) => {
    const response = await sendBytes(app.url, bytes);
    expect((await app.get('/health/live')).status).toBe(200);
    expect(await app.database.collection('todos').countDocuments()).toBe(0);
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

it('many bodies of which the rest does not arrive give way, those that began first, to bodies that do arrive', async () => {
  const head = rawHead('POST /todos', 'Content-Type: application/json', 'Content-Length: 1000000');
  const clients = Array.from({ length: 90 }, () => new RawConnection(app.url));
  for (const client of clients) client.write(`${head}{"title":"${'x'.repeat(900_000)}`);
  const refused = () => clients.filter(({ received }) => received !== '');
  await eventually(() => expect(refused()[0]?.received).toMatch(/^HTTP\/1\.1 503 .*/));
  expect((await app.post('/todos', { title: 'x', description: 'y'.repeat(500_000) })).status).toBe(400);
  expect((await app.post('/todos', { title: 'Water the plants' })).status).toBe(201);
  // 64 MiB of them fit.
  expect(refused().length).toBeLessThanOrEqual(90 - 74 + 2);
  for (const client of clients) client.close();
  await app.empty();
});
