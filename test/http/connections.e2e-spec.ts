/** @slow */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { MAX_BEHIND } from '../../src/common/server/connections.js';
import { eventually } from '../support/eventually.js';
import { passTime, releaseClock, stopClock } from '../support/own-clock.js';
import { expectProblem } from '../support/problems.js';
import { RawConnection, rawHead, sendBytes, sendRaw } from '../support/raw-http.js';
import { storeTodos } from '../support/records.js';
import { useServices } from '../support/service-process.js';
import { ACME, acme } from '../support/tenants.js';
import { createTestApp, type TestApp, useTestApp } from '../support/test-app.js';

const JSON_TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const IMPORT = rawHead('POST /todos/import', 'Content-Type: application/x-ndjson', CHUNKED);

const chunks = (text: string, size = 100) =>
  (text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [])
    .map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
    .join('');

/** The server's side of the next connection to it. */
const accepted = async (of: TestApp) => ((await once(of.app.getHttpServer(), 'connection')) as [Socket])[0];

/** More todos than the sockets between a client and the service can hold. */
const TODOS = 2_500;

const app = useTestApp();
const connections: RawConnection[] = [];
const connection = ({ url }: { url: string } = app, localAddress?: string) => {
  const opened = new RawConnection(url, localAddress);
  connections.push(opened);
  return opened;
};
afterEach(() => {
  releaseClock();
  connections.splice(0).forEach((each) => each.close());
});

describe('a body in chunks', () => {
  const detail = 'The body comes in too many small chunks. Send fewer and larger ones.';
  const SMALL = '1\r\n \r\n'.repeat(6_000);

  it.each([1, 7, 4_000])('is read as one that is not: chunks of %d bytes', async (size) => {
    const todo = { title: 'Feed the cat', description: 'x'.repeat(3_000) };
    const headers = ['Connection: close', JSON_TYPE, 'Prefer: return=representation', CHUNKED];
    const bytes = `${rawHead('POST /todos', ...headers)}${chunks(JSON.stringify(todo), size)}0\r\n\r\n`;
    const { status, body } = await sendBytes(app.url, bytes);
    expect([status, body]).toEqual([201, expect.objectContaining(todo)]);
  });

  it.each([
    ['/todos', rawHead('POST /todos', JSON_TYPE, CHUNKED)],
    ['/todos/import', IMPORT],
  ])('is a 400 once there are too many small ones, and its rest is not read: %s', async (path, head) => {
    const response = await sendBytes(app.url, head + SMALL);
    expectProblem(response, { status: 400, code: 'MALFORMED_REQUEST', detail, instance: path });
    expect(response.headers.get('connection')).toBe('close');
  });

  it('ends an import that has results with a problem in place of the next one', async () => {
    const client = connection();
    client.write(IMPORT, chunks('{"title":"Sweep"}\n'));
    await client.receives('"status":201');
    client.write(SMALL);
    await client.receives('"line":2');
    expect(client.received).toContain(detail);
  });
});

describe('a body that nobody reads', () => {
  it.each([
    ['POST', '/nothing', 404],
    ['PUT', '/todos', 405],
    ['POST', '/%', 400],
    ['GET', '/todos/count', 200],
    ['GET', '/todos/7', 400],
    ['POST', '/todos', 413],
  ])('is not received in full, and the answer can be read: %s %s', async (method, path, status) => {
    stopClock('setTimeout');
    const accepting = accepted(app);
    const head = rawHead(`${method} ${path}`, JSON_TYPE, CHUNKED);
    const response = await sendBytes(app.url, head + chunks('x'.repeat(4_000_000), 65_536));
    expect(response.status).toBe(status);
    expect(response.headers.get('connection')).toBe('close');
    const socket = await accepting;
    passTime(999);
    // Closed at once, it would be reset, and the answer lost on a longer way.
    expect(socket.destroyed).toBe(false);
    passTime(1);
    expect(socket.destroyed).toBe(true);
    expect(socket.bytesRead).toBeLessThan(2_500_000);
  });

  it.each([
    ['/todos', 'application/json'],
    ['/todos/import', 'application/x-ndjson'],
  ])('is a 415 if it is compressed: %s', async (path, type) => {
    const headers = { 'Content-Type': type, 'Content-Encoding': 'gzip' };
    const body = gzipSync('{"title":"x"}');
    const response = await sendRaw(app.url, { method: 'POST', path, headers, body });
    const detail = 'The body must not be compressed or coded otherwise. Leave "Content-Encoding" out.';
    expectProblem(response, { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', detail, instance: path });
    expect(response.headers.get('accept-encoding')).toBe('identity');
  });

  it('may have the coding "identity", which is none', async () => {
    const headers = { 'Content-Encoding': 'identity' };
    expect((await app.post('/todos', { title: 'x' }, { headers })).status).toBe(201);
  });

  it('of an expectation that is not known is a 417 with a problem', async () => {
    const { body, headers } = await sendBytes(app.url, rawHead('POST /todos', JSON_TYPE, 'Expect: 200-ok'));
    expect(body).toMatchObject({ status: 417, code: 'EXPECTATION_FAILED' });
    expect(headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('a client that takes its time', () => {
  const limits = { headersMs: 500, bodyMs: 1, stallMs: 60_000 };
  const patient = useTestApp({ limits });
  beforeAll(() => storeTodos(patient.database, TODOS));

  it('gets a 408 for a body that does not end, however much of it arrives', async () => {
    stopClock('setTimeout');
    const client = connection(patient);
    client.write(rawHead('POST /todos', JSON_TYPE, 'Content-Length: 100000'), '{');
    await eventually(() => {
      client.write(' ');
      passTime(limits.bodyMs);
      expect(client.received).toMatch(/^HTTP\/1.1 408 [\s\S]*REQUEST_TIMEOUT/);
    });
  });

  it('gets a 408 for a head that does not end, but may take longer for an import', async () => {
    stopClock('setTimeout');
    const client = connection(patient);
    client.write(IMPORT, chunks('{"title":"x"}\n'));
    await client.receives('"status":201');
    passTime(1_000 * limits.bodyMs);
    // It begins later, and has had its time.
    const { body } = await sendBytes(patient.url, 'GET /todos HTTP/1.1\r\nHost:');
    const detail = 'The request did not arrive in time. Send it again.';
    expect(body).toMatchObject({ status: 408, code: 'REQUEST_TIMEOUT', detail });
    client.write(chunks('{"title":"x"}\n'));
    await client.receives(/("status":201[\s\S]*){2}/);
  });

  it('is disconnected if it does not read its answer', async () => {
    const accepting = accepted(patient);
    const client = connection(patient);
    client.socket.pause();
    client.write(rawHead('GET /todos'));
    const socket = await accepting;
    await eventually(() => expect(socket.writableNeedDrain).toBe(true));
    expect(socket.timeout).toBe(limits.stallMs);
    // In less time.
    socket.setTimeout(50);
    await eventually(() => expect(socket.destroyed).toBe(true));
  });
});

describe('requests that wait behind another one on their connection', () => {
  const QUEUED = 5;
  beforeAll(async () => {
    await storeTodos(app.database, TODOS);
    const post = { title: 'x', content: 'x'.repeat(100_000), tenant: ACME, createdAt: new Date() };
    await app.database.collection('posts').insertMany(Array.from({ length: 100 }, () => ({ ...post })));
  });

  it('release their resources when the connection ends', async () => {
    const headers = { Authorization: `Bearer ${acme}` };
    const authorized = `Authorization: Bearer ${acme}`;
    const inFlight = (count: number) =>
      eventually(async () =>
        expect((await app.get('/metrics')).text).toContain(`\nhttp_requests_in_flight ${count}\n`),
      );
    // Live streams have places, and large pages memory, that others would miss.
    const queued = ['/todos?limit=1', '/events', '/posts/api?limit=100'];
    for (let i = 0; i < 10; i++) {
      const client = connection();
      client.socket.pause();
      client.write(rawHead('GET /todos'));
      for (const path of queued) client.write(rawHead(`GET ${path}`, authorized).repeat(QUEUED));
      await inFlight(2 + queued.length * QUEUED);
      client.close();
      await inFlight(1);
    }
    expect((await fetch(`${app.url}/posts/api?limit=100`)).status).toBe(200);
    const stream = await fetch(`${app.url}/events`, { headers });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });
});

describe('requests that are sent before the answers to others', () => {
  const last = rawHead('GET /last', 'Connection: close');
  const get = (path: string) => rawHead(`GET ${path}`);
  // Answered in the turn of the event loop that reads it.
  const post = (path: string) => `${rawHead(`POST ${path}`, JSON_TYPE, 'Content-Length: 2')}{}`;

  const instancesOf = async (bytes: string) => {
    const client = connection();
    const ended = once(client.socket, 'end');
    client.write(bytes);
    await ended;
    return [...client.received.matchAll(/"instance":"([^"]+)"/g)].map(([, path]) => path);
  };

  it('are answered in their order', async () => {
    const paths = Array.from({ length: 20 }, (_, i) => `/nothing/${i}`);
    expect(await instancesOf(paths.map(get).join('') + last)).toEqual([...paths, '/last']);
  });

  it.each([
    ['that wait', get, 'nothing'],
    ['that are answered at once', post, 'posts/api?query'],
  ])('are limited; any more are not read or carried out: those %s', async (_which, request, path) => {
    const accepting = accepted(app);
    const bytes = Array.from({ length: 50_000 }, (_, i) => request(`/${path}${i}`)).join('');
    expect(await instancesOf(bytes + last)).toHaveLength(MAX_BEHIND + 1);
    expect((await accepting).bytesRead).toBeLessThan(200_000);
  });

  it('are any number, if each waits for its answer, also with bodies that nobody reads', async () => {
    const client = connection();
    for (let i = 1; i <= 2 * MAX_BEHIND; i++) {
      const request = i % 2 === 0 ? get : post;
      client.write(request(`/nothing/${i}`));
      await client.receives(`"/nothing/${i}"`);
    }
  });
});

/** Opens connections that send nothing, one after the other. */
async function open(url: string, localAddress: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await once(connection({ url }, localAddress).socket, 'connect');
}

const areOpen = () => connections.map(({ socket }) => socket.readyState === 'open');

describe('connections without a request', () => {
  const services = useServices();

  it.each([
    ['another network', '127.0.0.2'],
    ['the same network', '127.0.0.1'],
  ])('leave descriptors for the database and for clients of %s', async (_whose, address) => {
    const { url } = await services.start({}, '-n 256');
    await open(url, '127.0.0.1', 400);
    for (const [request, status] of [
      [rawHead('GET /health/live'), 200],
      [`${rawHead('POST /todos', JSON_TYPE, 'Content-Length: 24')}{"title":"Feed the cat"}`, 201],
      [rawHead('GET /health/ready'), 200],
    ] as const) {
      const client = new RawConnection(url, address);
      client.write(request);
      await client.receives(`HTTP/1.1 ${status} `);
      client.close();
    }
    await eventually(() => expect(areOpen().filter(Boolean).length).toBeLessThanOrEqual(64));
  });

  it('beyond the maximum cost the network with most of them its newest one', async () => {
    const small = await createTestApp({ limits: { maxConnections: 4 } });
    await open(small.url, '127.0.0.1', 3);
    await open(small.url, '127.0.0.2', 1);
    await open(small.url, '127.0.0.3', 1);
    await eventually(() => expect(areOpen()).toEqual([true, true, false, true, true]));
    await small.close();
  });
});
