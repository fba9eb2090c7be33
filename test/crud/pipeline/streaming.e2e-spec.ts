/** @slow */
import { once } from 'node:events';
import { request } from 'node:http';
import { Types } from 'mongoose';
import { useProxiedApp } from '../../support/proxied-app.js';
import { eventually } from '../../support/eventually.js';
import { commandsOf } from '../../support/sent-commands.js';
import { useTestApp } from '../../support/test-app.js';
import { restOf, useUnhurriedReaders, watchCursors } from '../../support/open-cursors.js';

/** More than the sockets between a client and the service can hold. */
const RECORDS = 2_500;
const TEXT = 'x'.repeat(10_000);

describe.each(['generated', 'handwritten'])('GET /todos without page parameters, %s', (form) => {
  // So that no other limit than the database's breaks a connection during a test.
  const app = useProxiedApp({ env: { TODOS_API: form }, limits: { stallMs: 600_000 } });
  let openCursors: ReadonlyMap<string, number>;
  const readers = useUnhurriedReaders(app);

  beforeAll(async () => {
    openCursors = watchCursors(app);
    const times = { createdAt: new Date(), updatedAt: new Date() };
    const todos = Array.from({ length: RECORDS }, (_, i) => ({
      _id: new Types.ObjectId(i.toString(16).padStart(24, '0')),
      ...{ title: `Todo ${i}`, description: TEXT, completed: false, ...times, __v: 0 },
    }));
    await app.database.collection('todos').insertMany(todos);
  });

  /** Starts to read the list and stops after the first bytes. */
  async function startReading() {
    const response = await readers.start('/todos');
    expect(response.statusCode).toBe(200);
    await once(response, 'readable');
    const first = String(response.read());
    return { response, first };
  }

  /** How many records each server-side cursor that is open has given so far. */
  const cursors = (): number[] => [...openCursors.values()];

  it('returns every record, newest first, by _id if the times are equal, as one JSON array', async () => {
    const response = await fetch(`${app.url}/todos`);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const titles = ((await response.json()) as { title: string }[]).map(({ title }) => title);
    const newestFirst = Array.from({ length: RECORDS }, (_, i) => `Todo ${RECORDS - 1 - i}`);
    expect([response.status, titles]).toEqual([200, newestFirst]);
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
    expect(JSON.parse(first + (await restOf(response)))).toHaveLength(RECORDS);
  });

  it('closes the cursor of a client that goes away', async () => {
    const { response } = await startReading();
    expect(cursors()).toHaveLength(1);
    response.socket.destroy();
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
    const { status, headers, text } = await app.request('HEAD', '/todos');
    expect([status, headers.get('content-type'), text]).toEqual([200, 'application/json; charset=utf-8', '']);
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('breaks the connection if the database is lost in mid-stream, instead of ending as if complete', async () => {
    const { response, first } = await startReading();
    let read = first;
    response.on('data', (chunk: Buffer) => (read += String(chunk)));
    await app.proxy.turn('refuse');
    await expect(once(response, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(() => JSON.parse(read) as unknown).toThrow(SyntaxError);
    expect((await app.get('/health/live')).status).toBe(200);
  });

  it('breaks the connection when the database hangs in mid-stream', async () => {
    const { response } = await startReading();
    await app.proxy.turn('hang');
    await expect(restOf(response)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('is a 503 when the database cannot be reached before the first byte', async () => {
    await app.proxy.turn('refuse');
    const { status, headers, body } = await app.get('/todos');
    expect([status, body.code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('retry-after')).toBe('5');
  });
});

describe.each(['generated', 'handwritten'])('an empty list of todos, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form } });

  it('is an empty JSON array', async () => {
    const { status, body } = await app.get('/todos');
    expect([status, body]).toEqual([200, []]);
  });

  it('is fetched in small batches, since its client may be gone before the first one is there', async () => {
    const sent = await commandsOf(app, () => app.get('/todos'));
    const [find] = sent.filter(({ name }) => name === 'find todos');
    expect(find?.command.batchSize).toBeLessThanOrEqual(200);
  });
});
