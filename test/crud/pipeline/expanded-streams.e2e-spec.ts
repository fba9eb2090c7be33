/** @slow */
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Types } from 'mongoose';
import { CrudModule, IsReference, IsText } from '../../../src/index.js';
import { useProxiedApp } from '../../support/proxied-app.js';
import { eventually } from '../../support/eventually.js';
import { restOf, useUnhurriedReaders, watchCursors } from '../../support/open-cursors.js';
import { resourceRoot } from '../../support/resource-app.js';
import { watchCommands } from '../../support/sent-commands.js';
import { resource } from '../../support/resource.js';

const shelves = resource({ name: 'shelves', class: 'Shelf', fields: { label: IsText({ max: 40 }) } });
const books = resource({
  name: 'books',
  fields: { text: IsText({ max: 1_000 }), shelf: IsReference(() => shelves.entity) },
  references: { shelf: { to: shelves.entity } },
});

const RECORDS = 100_000;
const SHELVES = 1_000;
/** Time to store and to read so many records on a busy machine. Unit: milliseconds. */
const PATIENCE = 240_000;

const app = useProxiedApp({
  root: (environment, database) =>
    resourceRoot(environment, database, [CrudModule.forFeature(shelves), CrudModule.forFeature(books)]),
});
let cursors: ReadonlyMap<string, number>;
const readers = useUnhurriedReaders(app);
/** Starts to read all books with their shelves. */
const startReading = () => readers.start('/books?expand=shelf', { Accept: 'application/x-ndjson' });

beforeAll(async () => {
  cursors = watchCursors(app);
  const times = { createdAt: new Date(), updatedAt: new Date(), __v: 0 };
  const ids = Array.from({ length: SHELVES }, () => new Types.ObjectId());
  const shelves = ids.map((_id, i) => ({ ...times, _id, label: `Shelf ${i}` }));
  await app.database.collection('shelves').insertMany(shelves);
  const text = 'x'.repeat(500);
  for (let at = 0; at < RECORDS; at += 10_000) {
    const books = Array.from({ length: 10_000 }, (_, i) => ({
      ...times,
      text,
      shelf: ids[(at + i) % SHELVES],
    }));
    await app.database.collection('books').insertMany(books);
  }
}, PATIENCE);
/** The bytes that are still in use once garbage is collected. */
function liveHeap(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}

it(
  'a stream with expanded records needs no more memory for more records',
  async () => {
    const live = liveHeap();
    const heap: number[] = [];
    let [labels, bytes, queries] = [0, 0, 0];
    const stop = watchCommands(app, ({ name }) => (queries += Number(name === 'find shelves')));
    const before = live();
    let rest = '';
    for await (const chunk of await startReading()) {
      const parts = (rest + (chunk as Buffer).toString('latin1')).split('"label":"Shelf ');
      rest = parts.at(-1)?.slice(-20) ?? '';
      labels += parts.length - 1;
      if (Math.floor(bytes / 1e7) < Math.floor((bytes + (chunk as Buffer).length) / 1e7)) heap.push(live());
      bytes += (chunk as Buffer).length;
    }
    stop();
    expect(labels).toBe(RECORDS);
    // One for 100 records; the driver repeats a read whose connection is lost on a busy machine.
    expect(queries).toBeGreaterThanOrEqual(RECORDS / 100);
    expect(queries).toBeLessThan(RECORDS / 100 + 10);
    expect(heap.length).toBeGreaterThan(5);
    // All records together are more than 70 MB.
    expect(Math.max(...heap) - before).toBeLessThan(20_000_000);
    expect(cursors.size).toBe(0);
  },
  PATIENCE,
);

it('stops fetching while the client does not read, and closes the cursor when it goes away', async () => {
  const response = await startReading();
  await once(response, 'readable');
  // A count of everything in the meantime: time enough for the stream to run ahead, if it did.
  await app.get('/books/count');
  const [fetched, ...others] = cursors.values();
  expect(others).toEqual([]);
  expect(fetched).toBeLessThan(RECORDS / 2);
  response.socket.destroy();
  await eventually(() => expect(cursors.size).toBe(0));
});

it('leaves no cursor open after a HEAD', async () => {
  expect((await app.request('HEAD', '/books?expand=shelf')).status).toBe(200);
  await eventually(() => expect(cursors.size).toBe(0));
});

it('breaks the connection if the database is lost in mid-stream', async () => {
  const response = await startReading();
  await once(response, 'readable');
  await app.proxy.turn('refuse');
  await expect(restOf(response)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(response.complete).toBe(false);
});
