import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient, type Document } from 'mongodb';

// The server's thread runs compiled code, so these tests do as well.
const built = new URL('../dist/index.js', import.meta.url).href;
const { startEmbeddedMongodb } = (await import(built)) as typeof import('../src/index.js');
let server: Awaited<ReturnType<typeof startEmbeddedMongodb>>;
let client: MongoClient;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'commands-'));
  server = await startEmbeddedMongodb({ dir });
  client = await new MongoClient(server.uri).connect();
});
beforeEach(() => client.db('test').dropDatabase());
afterAll(async () => {
  await client.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

const run = (command: Document): Promise<Document> => client.db('test').command(command);

describe('commands', () => {
  it('do not promise acknowledgement by servers that do not exist', async () => {
    const insert = { insert: 'names', documents: [{ _id: 1 }] };
    await expect(run({ ...insert, writeConcern: { w: 2 } })).rejects.toMatchObject({ code: 2 });
    await expect(run({ ...insert, writeConcern: { w: 'two' } })).rejects.toMatchObject({ code: 2 });
    await expect(run({ ...insert, writeConcern: { w: 'majority' } })).resolves.toMatchObject({ n: 1 });
  });

  it.each<[Document, number]>([
    [{ find: 'names', filter: null }, 14],
    [{ find: 'names', projection: null }, 14],
    [{ find: 'names', hint: null }, 9],
    [{ find: 'names', maxTimeMS: 2.5 }, 2],
    [{ find: 'names', maxTimeMS: -1 }, 2],
    [{ find: 'names', maxTimeMS: 2 ** 31 }, 2],
    [{ find: 'names', readConcern: { level: 'other' } }, 9],
    [{ insert: 'names', documents: [{ _id: 1 }], writeConcern: { w: -1 } }, 9],
    [{ update: 'names', updates: [{ q: {}, u: {} }], maxTimeMS: '1' }, 2],
  ])('refuse %j as MongoDB does, with %d', async (command, code) => {
    await expect(run(command)).rejects.toMatchObject({ code });
  });

  it('refuse an _id with a name that starts with a dollar sign at any depth', async () => {
    const documents = [{ _id: { a: { $b: 1 } } }, { _id: { a: [{ $b: 1 }] } }, { _id: { a: { $id: 1 } } }];
    const reply = await run({ insert: 'names', documents, ordered: false });
    expect(reply).toMatchObject({ n: 1, writeErrors: [{ code: 52 }, { code: 52 }] });
  });

  it('count everything if the skip is not a number', async () => {
    await run({ insert: 'names', documents: [{ _id: 1 }] });
    expect(await run({ count: 'names', skip: NaN })).toMatchObject({ n: 1 });
  });

  it('name the value of a duplicate that is an empty array', async () => {
    const names = client.db('test').collection('names');
    await names.createIndex({ n: 1 }, { unique: true });
    await expect(names.insertMany([{ n: [] }, { n: [] }])).rejects.toMatchObject({
      code: 11_000,
      message: expect.stringContaining('dup key: { n: undefined }') as string,
    });
  });

  it('list the options of an index in the order of MongoDB', async () => {
    const indexes = [{ name: 'x', sparse: true, key: { a: 1 }, unique: 1 }];
    await run({ createIndexes: 'names', indexes });
    const { cursor } = await run({ listIndexes: 'names' });
    const expected = { v: 2, key: { a: 1 }, name: 'x', unique: true, sparse: true };
    expect(JSON.stringify(cursor.firstBatch[1])).toBe(JSON.stringify(expected));
  });

  it.each<Document>([
    { ping: 1 },
    { endSessions: [] },
    { refreshSessions: [] },
    { drop: 'names' },
    { dropDatabase: 1 },
  ])('refuse a field that %j does not have', async (command) => {
    const [name] = Object.keys(command);
    await expect(run({ ...command, select: 1 })).rejects.toMatchObject({
      code: 40_415,
      message: `BSON field '${name}.select' is an unknown field.`,
    });
  });

  it('accept the creation of a collection that exists', async () => {
    await run({ create: 'names' });
    await expect(run({ create: 'names' })).resolves.toMatchObject({ ok: 1 });
  });

  // The codes are those of a MongoDB 7.0.
  it.each<[Document, number]>([
    [{ distinct: 'names' }, 40_414],
    [{ distinct: 'names', key: '' }, 40_352],
    [{ distinct: 'names', key: 'a.' }, 40_353],
    [{ distinct: 'names', key: 'a..b' }, 15_998],
    [{ distinct: 'names', key: '$a' }, 16_410],
    [{ distinct: 'names', key: 'a\0' }, 31_032],
    [{ count: 'names', limit: 'x' }, 2],
    [{ insert: 'names', documents: [{}], ordered: 1 }, 14],
    [{ update: 'names', updates: [{ q: {}, u: {}, multi: 1 }] }, 14],
    [{ update: 'names', updates: [{ q: {}, u: {}, upsert: 'no' }] }, 14],
    [{ update: 'names', updates: [{ q: 1, u: {} }] }, 14],
    [{ update: 'names', updates: [{ q: {} }] }, 40_414],
    [{ update: 'names', updates: [{ q: {}, u: {}, all: true }] }, 40_415],
    [{ delete: 'names', deletes: [{ q: {} }] }, 40_414],
    [{ delete: 'names', deletes: [{ q: {}, limit: 2 }] }, 9],
    [
      {
        createIndexes: 'names',
        indexes: [{ key: { a: 1 }, name: 'a', partialFilterExpression: { b: /c/ } }],
      },
      67,
    ],
    [{ find: 'names', tailable: true }, 2],
    [{ find: 'names', awaitData: true }, 9],
    [{ find: 'names', readConcern: { level: 'snapshot' } }, 123],
    [{ aggregate: 'names', cursor: {}, pipeline: [{ $project: { a: '$$' } }] }, 9],
    // Of two mistakes, that in a stage's name comes first.
    [{ aggregate: 'names', cursor: {}, pipeline: [{ $match: { $x: 1 } }, { $foo: 1 }] }, 115],
  ])('refuse %j with %i', async (command, code) => {
    await run({ insert: 'names', documents: [{ _id: 1 }] });
    await expect(run(command)).rejects.toMatchObject({ code });
    await expect(run({ find: 'names' })).resolves.toMatchObject({ cursor: { firstBatch: [{ _id: 1 }] } });
  });

  it("keep MongoDB's own names free", async () => {
    await expect(run({ create: 'system.names' })).rejects.toMatchObject({ code: 73 });
    await expect(run({ insert: 'system.names', documents: [{}] })).rejects.toMatchObject({ code: 73 });
  });
});

describe('large writes', () => {
  const big = 'x'.repeat(1_000_000);

  it('go to the journal in parts, which keeps it small', async () => {
    const notes = client.db('test').collection<{ _id: number; body: string; n?: number }>('notes');
    await notes.insertMany(Array.from({ length: 40 }, (_, _id) => ({ _id, body: big })));
    expect(await notes.updateMany({}, { $set: { n: 1 } })).toMatchObject({
      matchedCount: 40,
      modifiedCount: 40,
    });
    expect(await notes.countDocuments({ n: 1, body: big })).toBe(40);
    expect(statSync(join(dir, 'lmdb', 'journal')).size).toBeLessThan(16_000_000);
  });
});

describe('dropIndexes', () => {
  beforeEach(() =>
    run({
      createIndexes: 'names',
      indexes: [
        { key: { a: 1 }, name: 'plain' },
        { key: { a: 1 }, name: 'unique', unique: true },
      ],
    }),
  );
  const names = async (): Promise<string[]> =>
    (await client.db('test').collection('names').indexes()).map(({ name }) => name as string);

  it('drops none of two indexes with the key it is given', async () => {
    await expect(run({ dropIndexes: 'names', index: { a: 1 } })).rejects.toMatchObject({ code: 181 });
    expect(await names()).toEqual(['_id_', 'plain', 'unique']);
  });

  it('names an option that is missing or of the wrong type', async () => {
    await expect(run({ dropIndexes: 'names' })).rejects.toMatchObject({ code: 40414 });
    await expect(run({ dropIndexes: 'names', index: 1 })).rejects.toMatchObject({ code: 14 });
  });
});

describe('find', () => {
  it.each<Document>([
    { find: 'names', filter: { $text: { $search: 'ada' } } },
    { find: 'names', sort: { score: { $meta: 'textScore' } } },
    { find: 'names', projection: { score: { $meta: 'textScore' } } },
    { createIndexes: 'names', indexes: [{ key: { a: 'text' }, name: 'a' }] },
  ])('searches for no words, which would take stems: %j', async (command) => {
    await expect(run(command)).rejects.toMatchObject({ code: 115 });
  });
});

describe('createIndexes', () => {
  it('refuses another index on _id in the other order', async () => {
    const indexes = [{ key: { _id: -1 }, name: 'down' }];
    await expect(run({ createIndexes: 'names', indexes })).rejects.toMatchObject({ code: 2 });
  });
});
