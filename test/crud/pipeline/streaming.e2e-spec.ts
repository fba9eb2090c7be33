/** @slow */
import { once } from 'node:events';
import { request } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Types } from 'mongoose';
import { CrudModule, IsReference, IsText } from '../../../src/index.js';
import { useProxiedApp } from '../../support/proxied-app.js';
import { eventually } from '../../support/eventually.js';
import { restOf, useUnhurriedReaders, watchCursors } from '../../support/open-cursors.js';
import { feature, resource } from '../../support/resource.js';
import { commandsOf } from '../../support/sent-commands.js';
import { serviceWith } from '../../support/test-app.js';

const shelves = resource({ name: 'shelves', class: 'Shelf', fields: { label: IsText({ max: 40 }) } });
const books = feature({
  name: 'books',
  fields: {
    ...{ title: IsText({ max: 200 }), description: IsText({ max: 10_000 }) },
    shelf: IsReference(() => shelves.entity),
  },
  references: { shelf: { to: shelves.entity } },
});
const root = serviceWith({ imports: [CrudModule.forFeature(shelves), books] });

/** More than the sockets between a client and the service can hold. */
const RECORDS = 2_500;

/** The bytes that are still in use once garbage is collected. */
function liveHeap(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}

describe.each([
  { list: '/todos', form: 'generated', expanded: 0 },
  { list: '/todos', form: 'handwritten', expanded: 0 },
  { list: '/books?expand=shelf', form: 'generated', expanded: RECORDS },
])('GET $list without page parameters, $form', ({ list, form, expanded }) => {
  const [path = ''] = list.split('?');
  // So that no other limit than the database's breaks a connection during a test.
  const app = useProxiedApp({ env: { TODOS_API: form }, root, limits: { stallMs: 600_000 } });
  let openCursors: ReadonlyMap<string, number>;
  const readers = useUnhurriedReaders(app);

  beforeAll(async () => {
    openCursors = watchCursors(app);
    const times = { createdAt: new Date(), updatedAt: new Date(), __v: 0 };
    const ids = Array.from(
      { length: RECORDS },
      (_, i) => new Types.ObjectId(i.toString(16).padStart(24, '0')),
    );
    const common = { description: 'x'.repeat(10_000), completed: false, ...times };
    const records = ids.map((_id, i) => ({ ...common, _id, title: `Todo ${i}`, shelf: _id }));
    await app.database.collection(path.slice(1)).insertMany(records);
    const labelled = ids.map((_id, i) => ({ ...times, _id, label: `Shelf ${i}` }));
    await app.database.collection('shelves').insertMany(labelled);
  });

  /** Starts to read the list and stops after the first bytes. */
  async function startReading() {
    const response = await readers.start(list);
    expect(response.statusCode).toBe(200);
    await once(response, 'readable');
    return { response, first: String(response.read()) };
  }

  /** How many records each server-side cursor that is open has given so far. */
  const cursors = (): number[] => [...openCursors.values()];

  it('returns every record, newest first, by _id if the times are equal, as one JSON array', async () => {
    const response = await fetch(app.url + list);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const titles = ((await response.json()) as { title: string }[]).map(({ title }) => title);
    const newestFirst = Array.from({ length: RECORDS }, (_, i) => `Todo ${RECORDS - 1 - i}`);
    expect([response.status, titles]).toEqual([200, newestFirst]);
    expect(cursors()).toEqual([]);
  });

  it('needs no memory for the records that it has sent, and expands many at a time', async () => {
    const live = liveHeap();
    const before = live();
    const heap: number[] = [];
    let [labels, bytes, rest] = [0, 0, ''];
    const sent = await commandsOf(app, async () => {
      for await (const chunk of await readers.start(list)) {
        const parts = (rest + (chunk as Buffer).toString('latin1')).split('"label":"Shelf ');
        rest = parts.at(-1)?.slice(-20) ?? '';
        labels += parts.length - 1;
        bytes += (chunk as Buffer).length;
        if (bytes > 5e6 * (heap.length + 1)) heap.push(live());
      }
    });
    // In small batches, since the client may be gone before the first one is there.
    const [find] = sent.filter(({ name }) => name === `find ${path.slice(1)}`);
    expect(find?.command.batchSize).toBeLessThanOrEqual(200);
    const queries = sent.filter(({ name }) => name === 'find shelves').length;
    expect(labels).toBe(expanded);
    // One for 100 records; the driver repeats a read whose connection is lost on a busy machine.
    expect(queries).toBeGreaterThanOrEqual(expanded / 100);
    expect(queries).toBeLessThan(expanded / 100 + 10);
    expect(heap).toHaveLength(5);
    // All records together are 25 MB.
    expect(Math.max(...heap) - Math.min(before, ...heap)).toBeLessThan(12_000_000);
  });

  it('stops fetching while the client does not read, and goes on when it does', async () => {
    const { response, first } = await startReading();
    // A whole other list is read in the meantime: time enough for this one to run ahead, if it did.
    await (await fetch(app.url + list)).text();
    const [fetched, ...others] = cursors();
    expect(others).toEqual([]);
    expect(fetched).toBeGreaterThan(0);
    expect(fetched).toBeLessThan(RECORDS);
    expect(JSON.parse(first + (await restOf(response)))).toHaveLength(RECORDS);
  });

  it('closes the cursor of a client that goes away', async () => {
    const { response } = await startReading();
    expect(cursors()).toHaveLength(1);
    response.socket.destroy();
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('closes the cursor of a client that goes away before the first byte', async () => {
    const sent = request(app.url + list).end();
    sent.on('error', () => undefined);
    const seen = app.logLines.length;
    await once(sent, 'finish');
    sent.destroy();
    await eventually(() =>
      expect(app.logLines.slice(seen)).toContainEqual(expect.objectContaining({ path })),
    );
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it('answers HEAD with the headers of GET, and leaves no cursor open', async () => {
    const { status, headers, text } = await app.request('HEAD', list);
    expect([status, headers.get('content-type'), text]).toEqual([200, 'application/json; charset=utf-8', '']);
    await eventually(() => expect(cursors()).toEqual([]));
  });

  it.each(['refuse', 'hang'] as const)('breaks off if the database is lost midway: %s', async (mode) => {
    const { response, first } = await startReading();
    let read = first;
    response.on('data', (chunk: Buffer) => (read += String(chunk)));
    await app.proxy.turn(mode);
    await expect(once(response, 'end')).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(() => JSON.parse(read) as unknown).toThrow(SyntaxError);
    expect((await app.get('/health/live')).status).toBe(200);
  });

  it('is a 503 when the database cannot be reached before the first byte', async () => {
    await app.proxy.turn('refuse');
    const { status, headers, body } = await app.get(list);
    expect([status, body.code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('retry-after')).toBe('5');
  });
});
