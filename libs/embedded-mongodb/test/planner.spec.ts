import { type Document, MongoClient } from 'mongodb';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The server's thread runs compiled code, so these tests do as well.
const built = new URL('../dist/index.js', import.meta.url).href;
const { startEmbeddedMongodb } = (await import(built)) as typeof import('../src/index.js');
let dir: string;
let server: Awaited<ReturnType<typeof startEmbeddedMongodb>>;
let client: MongoClient;

async function start(): Promise<void> {
  server = await startEmbeddedMongodb({ dir });
  client = await new MongoClient(server.uri).connect();
}
async function stop(): Promise<void> {
  await client.close();
  await server.stop();
}
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'planner-'));
  return start();
});
beforeEach(() => client.db('test').dropDatabase());
afterAll(async () => {
  await stop();
  rmSync(dir, { recursive: true, force: true });
});

const things = () => client.db('test').collection<Document & { _id: number }>('things');
const idsOf = (found: Document[]): unknown[] => found.map(({ _id }) => _id);

describe('an index', () => {
  const nulls = [{ c: null }, {}, { c: 1 }];
  const arrays = [...nulls, { c: [] }, { c: [null] }, { c: [1] }];
  const nested = [{ a: [[1, 2], [3]] }, { a: [5] }, { a: [[]] }, { a: [[{ b: 2 }]] }, { a: [{ b: [7] }] }];

  it.each<Record<string, 1 | -1>>([{ a: 1 }, { a: -1 }, { a: 1, d: 1 }])(
    'finds and counts a document once for values longer than a key, with %j',
    async (key) => {
      const long = 'x'.repeat(2_000);
      await things().insertMany(
        [`${long}0`, `${long}1`, `${long}2`, 'x', null].map((a, _id) => ({ _id, a, d: _id })),
      );
      await things().createIndex(key);
      for (const wanted of [[0, 1], [0, 1, 4], [3], [0, 2, 3]]) {
        const values = [`${long}0`, `${long}1`, `${long}2`, 'x', null];
        const filter = { a: { $in: wanted.map((i) => values[i]) } };
        const ids = idsOf(await things().find(filter).hint(key).toArray());
        expect(ids.sort()).toEqual(wanted);
        expect(await things().countDocuments(filter, { hint: key })).toBe(wanted.length);
        expect(idsOf(await things().find(filter).hint(key).sort({ d: -1 }).toArray())).toEqual(
          [...wanted].reverse(),
        );
      }
    },
  );

  it('finds all values that are longer than a key, whatever stands for their ends', async () => {
    const long = 'z'.repeat(2_000);
    await things().insertMany(Array.from({ length: 1_000 }, (_, _id) => ({ _id, a: `${long}${_id}` })));
    await things().createIndex({ a: 1 });
    expect(await things().countDocuments({ a: { $lte: `${long}~` } }, { hint: { a: 1 } })).toBe(1_000);
  });

  it.each<[Document, Document, Document[], number[]]>([
    [{ c: 1 }, { c: { $lt: null } }, nulls, []],
    [{ c: 1 }, { c: { $gt: null } }, nulls, []],
    [{ c: 1 }, { c: { $lte: null } }, nulls, [0, 1]],
    [{ c: 1 }, { c: { $gte: null } }, arrays, [0, 1, 4]],
    [{ a: 1 }, { a: { $elemMatch: { $elemMatch: { $gt: 1 } } } }, nested, [0]],
    [{ a: 1 }, { a: { $elemMatch: { $all: [{ $elemMatch: { $gt: 1 } }] } } }, nested, [0]],
    [{ a: 1 }, { a: { $elemMatch: { $not: { $size: 1 }, $elemMatch: { $lt: 3 } } } }, nested, [0]],
    [{ 'a.b': 1 }, { a: { $elemMatch: { b: { $elemMatch: { $gt: 1 } } } } }, nested, [4]],
    [{ 'a.b': 1 }, { a: { $elemMatch: { b: null } } }, nested, [0, 2, 3]],
  ])('%j finds for %j what is there', async (key, filter, documents, expected) => {
    await things().insertMany(documents.map((each, _id) => ({ _id, ...each })));
    await things().createIndexes([
      { key, name: 'plain' },
      { key, name: 'sparse', sparse: true },
    ]);
    expect(idsOf(await things().find(filter).toArray()).sort()).toEqual(expected);
    expect(idsOf(await things().find(filter).hint('plain').toArray()).sort()).toEqual(expected);
    expect(await things().countDocuments(filter)).toBe(expected.length);
  });

  it('is not used for a filter of null, for which it has no entries', async () => {
    await things().insertMany(nulls.map((each, _id) => ({ _id, ...each })));
    await things().createIndex({ c: 1 }, { partialFilterExpression: { c: { $lt: null } } });
    expect(idsOf(await things().find({ c: null }).toArray())).toEqual([0, 1]);
    expect(
      await things()
        .find({ c: { $lt: null } })
        .toArray(),
    ).toEqual([]);
  });

  it('is not used if an element that is not a document lacks the field of its filter', async () => {
    await things().insertMany(nested.map((each, _id) => ({ _id, ...each })));
    await things().createIndex({ 'a.b': 1 }, { partialFilterExpression: { 'a.b': null } });
    const found = await things()
      .find({ a: { $elemMatch: { b: null } } })
      .toArray();
    expect(idsOf(found)).toEqual([0, 2, 3]);
  });
});

describe('without a sort', () => {
  const inserted = [5, 3, 9, 1, 7];
  beforeEach(async () => {
    await things().insertMany(inserted.map((_id) => ({ _id, n: 0 })));
  });

  it('documents come in the order of insertion', async () => {
    await things().createIndex({ other: 1 });
    expect(idsOf(await things().find().toArray())).toEqual(inserted);
    expect(idsOf(await things().find({ n: 0 }).limit(2).toArray())).toEqual([5, 3]);
    expect(
      idsOf(
        await things()
          .aggregate([{ $limit: 3 }])
          .toArray(),
      ),
    ).toEqual([5, 3, 9]);
    expect(await things().distinct('_id')).toEqual(inserted);
  });

  it('the first one inserted is found, changed and removed first', async () => {
    expect(await things().findOne()).toEqual({ _id: 5, n: 0 });
    expect(await things().findOneAndUpdate({ n: 0 }, { $set: { n: 1 } })).toEqual({ _id: 5, n: 0 });
    await things().updateOne({ n: 0 }, { $set: { n: 2 } });
    expect(await things().findOne({ n: 2 })).toEqual({ _id: 3, n: 2 });
    await things().deleteOne({ n: 0 });
    expect(idsOf(await things().find().toArray())).toEqual([5, 3, 1, 7]);
  });

  it('a change leaves a document in its place, and a restart the order', async () => {
    await things().replaceOne({ _id: 5 }, { text: 'x'.repeat(100_000) });
    await things().deleteOne({ _id: 3 });
    await things().insertOne({ _id: 3 });
    const order = [5, 9, 1, 7, 3];
    expect(idsOf(await things().find().toArray())).toEqual(order);
    await stop();
    await start();
    await things().insertOne({ _id: 0 });
    expect(idsOf(await things().find().toArray())).toEqual([...order, 0]);
  });

  it('an index on the filter is walked in its own order, as in MongoDB', async () => {
    expect(
      idsOf(
        await things()
          .find({ _id: { $gt: 3 } })
          .toArray(),
      ),
    ).toEqual([5, 7, 9]);
    expect(idsOf(await things().find().hint('_id_').toArray())).toEqual([1, 3, 5, 7, 9]);
  });
});
