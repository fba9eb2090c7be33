/** @slow */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { Types } from 'mongoose';
import { useProxiedApp } from '../../support/proxied-app.js';
import { eventually } from '../../support/eventually.js';
import { useTestApp } from '../../support/test-app.js';
import { watchCursors } from '../../support/open-cursors.js';

/** More than the sockets between a client and the service can hold. */
const RECORDS = 2_500;
const TEXT = 'x'.repeat(10_000);

describe.each(['generated', 'handwritten'])('GET /todos without page parameters, %s', (form) => {
  // So that no other limit than the database's breaks a connection during a test.
  const app = useProxiedApp({ env: { TODOS_API: form }, limits: { stallMs: 600_000 } });
  let openCursors: ReadonlyMap<string, number>;
  const open: ClientRequest[] = [];

  beforeAll(async () => {
    openCursors = watchCursors(app);
    const now = new Date();
    await app.database.collection('todos').insertMany(
      Array.from({ length: RECORDS }, (_, i) => ({
        _id: new Types.ObjectId(i.toString(16).padStart(24, '0')),
        title: `Todo ${i}`,
        description: TEXT,
        completed: false,
        createdAt: now,
        updatedAt: now,
        __v: 0,
      })),
    );
  });
  afterEach(() => open.splice(0).forEach((sent) => sent.destroy()));

  /** Starts to read the list and stops after the first bytes. */
  async function startReading(): Promise<{ response: IncomingMessage; socket: Socket; first: Buffer }> {
    const sent = request(`${app.url}/todos`).end();
    open.push(sent);
    sent.on('error', () => undefined);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    await once(response, 'readable');
    const first = response.read() as Buffer;
    return { response, socket: response.socket, first };
  }

  /** How many records each server-side cursor that is open has given so far. */
  const cursors = (): number[] => [...openCursors.values()];

  it('returns every record, newest first, by _id if the times are equal, as one JSON array', async () => {
    const response = await fetch(`${app.url}/todos`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const todos = (await response.json()) as { title: string }[];
    expect(todos.map(({ title }) => title)).toEqual(
      Array.from({ length: RECORDS }, (_, i) => `Todo ${RECORDS - 1 - i}`),
    );
    expect(cursors()).toEqual([]);
  });

  it('stops fetching while the client does not read, and goes on when it does', async () => {
    const { response, first } = await startReading();
    // A whole other list is read in the meantime: time enough for this one to run ahead, if it did.
    await (await fetch(`${app.url}/todos`)).text();
    const [fetched, ...others] = cursors();
    expect(others).toEqual([]);
    expect(fetched).toBeGreaterThan(0);
    expect(fetched).toBeLessThan(RECORDS / 2);
    const chunks = [first];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toHaveLength(RECORDS);
  });

  it('closes the cursor of a client that goes away', async () => {
    const { socket } = await startReading();
    expect(cursors()).toHaveLength(1);
    socket.destroy();
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('closes the cursor of a client that goes away before the first byte', async () => {
    const sent = request(`${app.url}/todos`).end();
    sent.on('error', () => undefined);
    const seen = app.logLines.length;
    await once(sent, 'finish');
    sent.destroy();
    await eventually(() =>
      expect(app.logLines.slice(seen)).toContainEqual(expect.objectContaining({ path: '/todos' })),
    );
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('answers HEAD with the headers of GET, and leaves no cursor open', async () => {
    const response = await app.request('HEAD', '/todos');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.text).toBe('');
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('breaks the connection if the database is lost in mid-stream, instead of ending as if complete', async () => {
    const { response, first } = await startReading();
    await app.proxy.turn('refuse');
    const chunks = [first];
    const reading = (async () => {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(() => JSON.parse(Buffer.concat(chunks).toString())).toThrow(SyntaxError);
    expect((await app.get('/health/live')).status).toBe(200);
  });

  it('breaks the connection when the database hangs in mid-stream', async () => {
    const { response } = await startReading();
    await app.proxy.turn('hang');
    const reading = (async () => {
      for await (const _ of response);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('is a 503 when the database cannot be reached before the first byte', async () => {
    await app.proxy.turn('refuse');
    const { status, headers, body } = await app.get('/todos');
    expect(status).toBe(503);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(headers.get('retry-after')).toBe('5');
    expect(body.code).toBe('DATABASE_UNAVAILABLE');
  });
});

describe.each(['generated', 'handwritten'])('an empty list of todos, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form } });

  it('is an empty JSON array', async () => {
    const { status, body } = await app.get('/todos');
    expect([status, body]).toEqual([200, []]);
  });
});
