import { type Document, Long, MongoClient } from 'mongodb';

// The server's thread runs compiled code, so these tests do as well.
const built = new URL('../dist/index.js', import.meta.url).href;
const { startEmbeddedMongodb } = (await import(built)) as typeof import('../src/index.js');
let server: Awaited<ReturnType<typeof startEmbeddedMongodb>>;
let client: MongoClient;

beforeAll(async () => {
  server = await startEmbeddedMongodb({ memory: true });
  client = await new MongoClient(server.uri).connect();
});
beforeEach(async () => {
  await client.db('test').dropDatabase();
  await tasks().insertMany(
    Array.from({ length: 300 }, (_, i) => ({ _id: i, s: 'open', at: 300 - i, a: i % 5 })),
  );
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

const tasks = () => client.db('test').collection<Document & { _id: number }>('tasks');
const run = (command: Document): Promise<Document> => client.db('test').command(command);

/** Reads one document, lets something happen, and reads the others. */
async function readAround(query: Document, act: () => Promise<unknown>): Promise<Document[]> {
  const name =
    'pipeline' in query ? { aggregate: 'tasks', cursor: { batchSize: 1 } } : { find: 'tasks', batchSize: 1 };
  const first = await run({ ...name, ...query });
  await act();
  // The driver makes a number of one in a thousand identifiers, which a server would refuse.
  const getMore = Long.fromValue(first.cursor.id as Long | number);
  const more = await run({ getMore, collection: 'tasks', batchSize: 1_000 });
  return [...first.cursor.firstBatch, ...more.cursor.nextBatch];
}

const close = (): Promise<unknown> => tasks().updateMany({}, { $set: { s: 'closed', at: 0, a: 9 } });

describe('a cursor read while others write', () => {
  it.each<[string, Document]>([
    ['without an index', {}],
    ['with an index on the filter', { s: 1 }],
  ])('gives what a sort in memory has read as it was then, %s', async (_, index) => {
    if (Object.keys(index).length > 0) await tasks().createIndex(index);
    const expected = await tasks().find({ s: 'open' }).sort({ at: 1 }).toArray();
    expect(await readAround({ filter: { s: 'open' }, sort: { at: 1 } }, close)).toEqual(expected);
    await tasks().updateMany({}, [{ $set: { s: 'open', at: '$_id' } }]);
    const again = await tasks().find({ s: 'open' }).sort({ at: 1 }).toArray();
    const removed = await readAround({ filter: { s: 'open' }, sort: { at: 1 } }, () =>
      tasks().deleteMany({}),
    );
    expect(removed).toEqual(again);
  });

  it.each<[string, Document, Document]>([
    ['of the collection', {}, { filter: { s: 'open' } }],
    ['of an index', { s: 1 }, { filter: { s: 'open' } }],
    ['of an index in order', { at: 1 }, { filter: { s: 'open' }, sort: { at: 1 } }],
    [
      'of ranges merged into one order',
      { a: 1, at: 1 },
      { filter: { a: { $in: [1, 2, 3] } }, sort: { at: 1 } },
    ],
    ['of several indexes', { a: 1 }, { filter: { $or: [{ a: 1 }, { a: 2 }] } }],
  ])('gives no document that no longer matches: a walk %s', async (_, index, query) => {
    if (Object.keys(index).length > 0) await tasks().createIndex(index);
    expect(await readAround(query, close)).toHaveLength(1);
  });

  it('continues in the right order if the next documents of merged ranges are gone', async () => {
    await tasks().createIndex({ a: 1, at: 1 });
    const filter = { a: { $in: [1, 2, 3] } };
    const left = () => tasks().find(filter).sort({ at: 1 }).toArray();
    const [first] = await left();
    const read = await readAround({ filter, sort: { at: 1 } }, () =>
      tasks().deleteMany({ at: { $lt: 100 } }),
    );
    expect(read).toEqual([first, ...(await left())]);
  });

  it('returns a document once even if the index has met its first array in between', async () => {
    await tasks().createIndex({ a: 1 });
    const read = await readAround({ filter: { a: { $gte: 0 } } }, () =>
      tasks().insertOne({ _id: 1_000, a: [4, 5, 6] }),
    );
    expect(read).toHaveLength(301);
  });
});

describe('a cursor whose data is dropped', () => {
  const killed = { code: 175, codeName: 'QueryPlanKilled' };

  it.each<[string, () => Promise<unknown>]>([
    ['collection is dropped', () => tasks().drop()],
    ['database is dropped', () => client.db('test').dropDatabase()],
    ['collection is renamed', () => tasks().rename('done')],
    [
      'collection is replaced by a rename',
      async () => {
        await run({ create: 'done' });
        await client.db('test').renameCollection('done', 'tasks', { dropTarget: true });
      },
    ],
    ['index is dropped', () => tasks().dropIndex('a_1')],
    [
      'index is dropped and made again',
      async () => {
        await tasks().dropIndex('a_1');
        await tasks().createIndex({ a: 1 });
      },
    ],
  ])('ends with an error when its %s', async (_, act) => {
    for (const query of [
      { filter: { a: 3 } },
      { filter: { a: 3 }, sort: { at: 1 } },
      { filter: { $or: [{ a: 3 }, { a: 4 }] } },
      { pipeline: [{ $match: { a: 3 } }] },
    ]) {
      await client.db('test').dropDatabase();
      await tasks().insertMany(Array.from({ length: 50 }, (_, i) => ({ _id: i, at: 50 - i, a: i % 5 })));
      await tasks().createIndex({ a: 1 });
      await expect(readAround(query, act)).rejects.toMatchObject(killed);
    }
  });

  it('continues if an index that it does not use is dropped', async () => {
    await tasks().createIndexes([{ key: { a: 1 } }, { key: { at: 1 } }]);
    expect(await readAround({ filter: { a: 3 } }, () => tasks().dropIndex('at_1'))).toHaveLength(60);
    expect(await readAround({}, () => tasks().dropIndex('a_1'))).toHaveLength(300);
  });

  it('continues if it has read all of the data', async () => {
    const pipeline = [{ $group: { _id: '$at' } }];
    expect(await readAround({ pipeline }, () => tasks().drop())).toHaveLength(300);
  });

  it('is also reported to a writer of many documents', async () => {
    await tasks().insertMany(Array.from({ length: 20_000 }, (_, i) => ({ _id: 1_000 + i })));
    const outcome = expect(tasks().deleteMany({})).rejects.toMatchObject({ code: 175 });
    while ((await tasks().estimatedDocumentCount()) === 20_300);
    await tasks().drop();
    await outcome;
  });
});
