import { type CreateIndexesOptions, type Document, MongoClient } from 'mongodb';

// The server's thread runs compiled code, so these tests do as well.
const built = new URL('../dist/index.js', import.meta.url).href;
const { startEmbeddedMongodb } = (await import(built)) as typeof import('../src/index.js');
let server: Awaited<ReturnType<typeof startEmbeddedMongodb>>;
let client: MongoClient;

beforeAll(async () => {
  server = await startEmbeddedMongodb({ memory: true, ttlIntervalMs: 5 });
  client = await new MongoClient(server.uri).connect();
});
beforeEach(() => client.db('test').dropDatabase());
afterAll(async () => {
  await client.close();
  await server.stop();
});

const old = new Date(0);
const young = new Date(Date.now() + 3_600_000);
const visits = (name = 'visits') => client.db('test').collection<Document & { _id: number }>(name);

/** The documents that are left when a collection whose turn comes last has been swept. */
async function left(): Promise<number[]> {
  const last = visits('zuletzt');
  await last.insertOne({ _id: 0, at: old });
  await last.createIndex({ at: 1 }, { expireAfterSeconds: 0 });
  // The sweep under way may have passed the others already; the second one has seen them all.
  for (let sweep = 0; sweep < 2; sweep++) {
    while ((await last.countDocuments()) > 0);
    await last.insertOne({ _id: sweep + 1, at: old });
  }
  while ((await last.countDocuments()) > 0);
  return (await visits().find().toArray()).map(({ _id }) => _id);
}

describe('a TTL index', () => {
  const documents = [
    { _id: 1, at: old, s: 'done' },
    { _id: 2, at: old, s: 'open' },
    { _id: 3, at: young, s: 'done' },
    { _id: 4, at: [young, old], s: 'done' },
    { _id: 5, at: 0, s: 'done' },
    { _id: 6, at: null, s: 'done' },
    { _id: 7, s: 'done' },
    { _id: 8, at: [], s: 'done' },
    { _id: 9, at: '1970-01-01', s: 'done' },
    { _id: 10, at: { at: old }, s: 'done' },
  ];
  const done: CreateIndexesOptions = { partialFilterExpression: { s: 'done' } };

  it.each<[string, Document, CreateIndexesOptions, number[]]>([
    ['an ordinary one', { at: 1 }, {}, [3, 5, 6, 7, 8, 9, 10]],
    ['a descending one', { at: -1 }, {}, [3, 5, 6, 7, 8, 9, 10]],
    ['a sparse one', { at: 1 }, { sparse: true }, [3, 5, 6, 7, 8, 9, 10]],
    ['a partial one', { at: 1 }, done, [2, 3, 5, 6, 7, 8, 9, 10]],
    [
      'one with a filter over its field',
      { at: 1 },
      { partialFilterExpression: { at: { $gt: old } } },
      [1, 2, 3, 5, 6, 7, 8, 9, 10],
    ],
    [
      'one with a filter of existence',
      { at: 1 },
      { partialFilterExpression: { s: { $exists: true } } },
      [3, 5, 6, 7, 8, 9, 10],
    ],
    [
      'one with a filter of both',
      { at: 1 },
      { partialFilterExpression: { $and: [{ s: 'done' }, { at: { $lte: old } }] } },
      [2, 3, 5, 6, 7, 8, 9, 10],
    ],
    ['one on a path', { 'at.at': 1 }, {}, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [
      'one that keeps them long enough',
      { at: 1 },
      { expireAfterSeconds: 2 ** 31 - 1 },
      documents.map(({ _id }) => _id),
    ],
  ])('removes what has expired and nothing else: %s', async (_, key, options, expected) => {
    await visits().insertMany(documents);
    await visits().createIndex({ at: 1, s: 1 });
    await visits().createIndex(key, { expireAfterSeconds: 0, ...options });
    expect(await left()).toEqual(expected);
  });

  it('does not remove documents outside its partial filter', async () => {
    await visits().insertMany(documents);
    await visits().createIndex({ at: 1 });
    await visits().createIndex({ at: 1 }, { expireAfterSeconds: 0, name: 'ttl', ...done });
    expect(await left()).toEqual([2, 3, 5, 6, 7, 8, 9, 10]);
  });

  it('removes a document once its partial filter matches', async () => {
    await visits().insertMany(documents);
    await visits().createIndex({ at: 1 }, { expireAfterSeconds: 0, ...done });
    await visits().updateOne({ _id: 2 }, { $set: { s: 'done' } });
    expect(await left()).toEqual([3, 5, 6, 7, 8, 9, 10]);
  });

  it('does not keep the server from ending in the middle of a sweep', async () => {
    const other = await startEmbeddedMongodb({ memory: true, ttlIntervalMs: 1 });
    const writer = await new MongoClient(other.uri).connect();
    for (let n = 0; n < 4; n++) {
      const items = writer.db('test').collection(`items${n}`);
      await items.createIndex({ at: 1 }, { expireAfterSeconds: 0 });
      await items.insertMany(Array.from({ length: 1_000 }, () => ({ at: old })));
    }
    await writer.close();
    await expect(other.stop()).resolves.toBeUndefined();
  });
});
