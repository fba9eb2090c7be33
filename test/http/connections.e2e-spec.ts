/** @slow */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { gzipSync } from 'node:zlib';
import { MAX_BEHIND } from '../../src/common/server/connections.js';
import { eventually } from '../support/eventually.js';
import { expectProblem } from '../support/problems.js';
import { sendBytes, sendRaw } from '../support/raw-http.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { createTestApp, type TestApp } from '../support/test-app.js';

const HOST = 'Host: localhost\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const REQUEST_TIMEOUT = {
  status: 408,
  code: 'REQUEST_TIMEOUT',
  detail: 'The request did not arrive in time. Send it again.',
} as const;

const chunks = (text: string, size: number) =>
  (text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [])
    .map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
    .join('');

describe('a body in chunks', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  const tooMany = {
    status: 400,
    code: 'MALFORMED_REQUEST',
    detail: 'The body comes in too many small chunks. Send fewer and larger ones.',
  } as const;

  it.each([1, 7, 4_000])('is read as one that is not: chunks of %d bytes', async (size) => {
    const todo = { title: 'Feed the cat', description: 'x'.repeat(3_000) };
    const head = `POST /todos HTTP/1.1\r\n${HOST}Connection: close\r\n${JSON_TYPE}Prefer: return=representation\r\n${CHUNKED}\r\n`;
    const { status, body } = await sendBytes(
      app.url,
      `${head}${chunks(JSON.stringify(todo), size)}0\r\n\r\n`,
    );
    expect([status, body]).toEqual([201, expect.objectContaining(todo)]);
  });

  it('is a 400 as soon as there are too many small ones, and its rest is not read', async () => {
    const head = `POST /todos HTTP/1.1\r\n${HOST}${JSON_TYPE}${CHUNKED}\r\n`;
    expectBroken(await sendBytes(app.url, head + '1\r\n \r\n'.repeat(6_000)), '/todos');
  });

  it('can also be that of an import', async () => {
    const head = `POST /todos/import HTTP/1.1\r\n${HOST}Content-Type: application/x-ndjson\r\n${CHUNKED}\r\n`;
    expectBroken(await sendBytes(app.url, head + '1\r\n \r\n'.repeat(6_000)), '/todos/import');
  });

  it('ends an import that has results with a problem in place of the next one', async () => {
    const head = `POST /todos/import HTTP/1.1\r\n${HOST}Content-Type: application/x-ndjson\r\n${CHUNKED}\r\n`;
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined);
    socket.write(`${head}${chunks('{"title":"Sweep"}\n', 100)}`);
    await eventually(() => expect(answer).toContain('"status":201'));
    socket.write('1\r\n \r\n'.repeat(6_000));
    await eventually(() => expect(answer).toContain('"line":2'));
    expect(answer).toContain(tooMany.detail);
    socket.destroy();
  });

  function expectBroken(response: Awaited<ReturnType<typeof sendBytes>>, instance: string): void {
    expectProblem(response, { ...tooMany, instance });
    expect(response.headers.get('connection')).toBe('close');
  }
});

describe('a body that nobody reads', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it.each([
    ['POST', '/nothing', 404],
    ['PUT', '/todos', 405],
    ['POST', '/%', 400],
    ['GET', '/todos/count', 200],
    ['GET', '/todos/7', 400],
    ['POST', '/todos', 413],
  ])('is not received in full, and the answer can be read: %s %s', async (method, path, status) => {
    const connection = once(app.app.getHttpAdapter().getInstance().server, 'connection');
    const head = `${method} ${path} HTTP/1.1\r\n${HOST}${JSON_TYPE}${CHUNKED}\r\n`;
    const bytes = head + chunks('x'.repeat(4_000_000), 65_536);
    const begun = performance.now();
    const response = await sendBytes(app.url, bytes);
    expect(response.status).toBe(status);
    expect(response.headers.get('connection')).toBe('close');
    const [socket] = (await connection) as [Socket];
    await eventually(() => expect(socket.destroyed).toBe(true));
    // Closed at once, it would be reset, and the answer lost on a longer way.
    expect(performance.now() - begun).toBeGreaterThan(990);
    expect(socket.bytesRead).toBeLessThan(2_500_000);
  });

  it('leaves the connection open if it has arrived', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    for (let i = 1; i <= 2; i++) {
      socket.write(`POST /nothing HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 2\r\n\r\n{}`);
      await eventually(() => expect(answers().match(/HTTP\/1.1 404/g)).toHaveLength(i));
    }
    socket.destroy();
  });

  it('is a 415 if it is compressed', async () => {
    for (const path of ['/todos', '/todos/import']) {
      const response = await sendRaw(app.url, {
        method: 'POST',
        path,
        headers: {
          'Content-Type': path === '/todos' ? 'application/json' : 'application/x-ndjson',
          'Content-Encoding': 'gzip',
        },
        body: gzipSync('{"title":"x"}'),
      });
      expectProblem(response, {
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
        detail: 'The body must not be compressed or coded otherwise. Leave "Content-Encoding" out.',
        instance: path,
      });
      expect(response.headers.get('accept-encoding')).toBe('identity');
    }
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'identity' };
    const plain = { method: 'POST', path: '/todos', headers, body: '{"title":"x"}' };
    expect((await sendRaw(app.url, plain)).status).toBe(201);
  });

  it('of an expectation that is not known is a 417 with a problem', async () => {
    const headers = { 'Content-Type': 'application/json', Expect: '200-ok' };
    const response = await sendRaw(app.url, { method: 'POST', path: '/todos', headers, body: '{}' });
    expect(response.body).toMatchObject({ status: 417, code: 'EXPECTATION_FAILED' });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('a client that takes its time', () => {
  const STALL_MS = 4_000;
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp({ limits: { headersMs: 500, bodyMs: 600, stallMs: STALL_MS } });
    const description = 'x'.repeat(10_000);
    const records = Array.from({ length: 1_500 }, () => ({ title: 'x', description, createdAt: new Date() }));
    await app.database.collection('todos').insertMany(records);
  });
  afterAll(() => app.close());

  it('gets a 408 for a head that does not end', async () => {
    expect((await sendBytes(app.url, 'GET /todos HTTP/1.1\r\nHost:')).body).toMatchObject(REQUEST_TIMEOUT);
  });

  it('gets a 408 for a body that does not end, however much of it arrives', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    socket.write(`POST /todos HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 100000\r\n\r\n{`);
    const dripping = setInterval(() => socket.write(' '), 50);
    await once(socket, 'end');
    clearInterval(dripping);
    expect(answers()).toMatch(/^HTTP\/1.1 408 /);
    expect(answers()).toContain('REQUEST_TIMEOUT');
    socket.destroy();
  });

  it('may take longer for an import', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    socket.write(
      `POST /todos/import HTTP/1.1\r\n${HOST}Content-Type: application/x-ndjson\r\n${CHUNKED}\r\n`,
    );
    let line = 0;
    const dripping = setInterval(() => socket.write(chunks(`{"title":"${line++}"}\n`, 100)), 100);
    await eventually(() => expect(answers().match(/"status":201/g)?.length).toBeGreaterThan(12));
    clearInterval(dripping);
    socket.destroy();
  });

  it('may wait between the lines of an import', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    socket.write(
      `POST /todos/import HTTP/1.1\r\n${HOST}Content-Type: application/x-ndjson\r\n${CHUNKED}\r\n`,
    );
    const sending = setInterval(() => socket.write(chunks('{"title":"x"}\n', 100)), 0.65 * STALL_MS);
    await eventually(() => expect(answers().match(/"status":201/g)?.length).toBe(2));
    clearInterval(sending);
    socket.destroy();
  });

  it('is disconnected if it does not read its answer', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(`GET /todos HTTP/1.1\r\n${HOST}\r\n`);
    await once(socket, 'readable');
    const { server } = app.app.getHttpAdapter().getInstance();
    await eventually(async () => {
      const count = await new Promise((resolve) =>
        server.getConnections((_: unknown, n: number) => resolve(n)),
      );
      expect(count).toBe(0);
      // Node's own time-out gives a send that has begun twice its time.
    }, 1.9 * STALL_MS);
    socket.destroy();
  });
});

describe('requests that wait behind another one on their connection', () => {
  const QUEUED = 5;
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
    const description = 'x'.repeat(10_000);
    const todos = Array.from({ length: 1_500 }, () => ({ title: 'x', description, createdAt: new Date() }));
    await app.database.collection('todos').insertMany(todos);
    const content = 'x'.repeat(100_000);
    const posts = Array.from({ length: 100 }, () => ({
      title: 'x',
      content,
      tenant: ACME,
      createdAt: new Date(),
    }));
    await app.database.collection('posts').insertMany(posts);
  });
  afterAll(() => app.close());

  const inFlight = async () =>
    Number(/^http_requests_in_flight (\d+)$/m.exec((await app.get('/metrics')).text)?.[1]);

  it('release their resources when the connection ends', async () => {
    const token = await tokenOf(ACME);
    // Live streams have places, and large pages memory, that others would miss.
    const queued = ['/todos?limit=1', '/events', '/posts/api?limit=100'];
    for (let i = 0; i < 10; i++) {
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(`GET /todos HTTP/1.1\r\n${HOST}\r\n`);
      for (const path of queued) {
        const head = `GET ${path} HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\n\r\n`;
        socket.write(head.repeat(QUEUED));
      }
      await eventually(async () => expect(await inFlight()).toBe(2 + queued.length * QUEUED));
      socket.destroy();
      await eventually(async () => expect(await inFlight()).toBe(1));
    }
    expect((await fetch(`${app.url}/posts/api?limit=100`)).status).toBe(200);
    const stream = await fetch(`${app.url}/events`, { headers: { Authorization: `Bearer ${token}` } });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });
});

describe('requests that are sent before the answers to others', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  const last = `GET /last HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`;
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;
  // Answered in the turn of the event loop that reads it.
  const post = (path: string) => `POST ${path} HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 2\r\n\r\n{}`;

  const instancesOf = async (bytes: string) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    const ended = once(socket, 'end');
    socket.write(bytes);
    await ended;
    socket.destroy();
    return [...answers().matchAll(/"instance":"([^"]+)"/g)].map(([, path]) => path);
  };

  it('are answered in their order', async () => {
    const paths = Array.from({ length: 20 }, (_, i) => `/nothing/${i}`);
    expect(await instancesOf(paths.map(get).join('') + last)).toEqual([...paths, '/last']);
  });

  it.each([
    ['that wait', get, 'nothing'],
    ['that are answered at once', post, 'posts/api?query'],
  ])('are limited; any more are not read or carried out: those %s', async (_which, request, path) => {
    const { server } = app.app.getHttpAdapter().getInstance();
    const connection = once(server, 'connection');
    const bytes = Array.from({ length: 50_000 }, (_, i) => request(`/${path}${i}`)).join('');
    const instances = await instancesOf(bytes + last);
    expect(instances).toHaveLength(MAX_BEHIND + 1);
    const [socket] = (await connection) as [Socket];
    expect(socket.bytesRead).toBeLessThan(200_000);
  });

  it('are any number, if each waits for its answer', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answers = collect(socket);
    for (let i = 1; i <= 2 * MAX_BEHIND; i++) {
      socket.write(get(`/nothing/${i}`));
      await eventually(() => expect(answers()).toContain(`"/nothing/${i}"`));
    }
    socket.destroy();
  });
});

/** All that a socket has received so far. */
function collect(socket: Socket): () => string {
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  socket.on('error', () => undefined);
  return () => text;
}
