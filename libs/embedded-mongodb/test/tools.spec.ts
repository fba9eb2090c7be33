import { Long, type Document } from 'bson';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const words = ['b', 'a', 'b', 'c', 'b', 'a'].map((word, n) => ({ _id: n, word }) as Document);

// What shells, Compass and statistics ask for.
describe('stages that tools call', () => {
  it('$sortByCount counts values, the most frequent first', async () => {
    const names = await server.filled(words);
    expect(await names.aggregate([{ $sortByCount: '$word' }]).toArray()).toEqual([
      { _id: 'b', count: 3 },
      { _id: 'a', count: 2 },
      { _id: 'c', count: 1 },
    ]);
  });

  it('$sample gives as many documents as asked for, each once', async () => {
    const names = await server.filled(words);
    for (const size of [0, 1, 4, 6, 100]) {
      const ids = (await names.aggregate([{ $sample: { size } }]).toArray()).map(({ _id }) => _id as number);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toHaveLength(Math.min(size, 6));
    }
  });

  it('$sample gives each document sooner or later', async () => {
    const names = await server.filled(words);
    const seen = new Set<unknown>();
    while (seen.size < words.length) {
      for (const { _id } of await names.aggregate([{ $sample: { size: 1 } }]).toArray()) seen.add(_id);
    }
  });

  it('$collStats tells how many documents there are, and their size', async () => {
    const names = await server.filled(words);
    const stages = [{ $collStats: { count: {}, storageStats: { scale: 2 } } }, { $unset: 'localTime' }];
    expect(await names.aggregate(stages).toArray()).toEqual([
      {
        ns: `test.${names.collectionName}`,
        host: 'localhost',
        storageStats: {
          size: 78,
          count: 6,
          avgObjSize: 26,
          numOrphanDocs: 0,
          storageSize: 78,
          capped: false,
          nindexes: 1,
          scaleFactor: 2,
        },
        count: 6,
      },
    ]);
  });

  it('$indexStats tells how often an index was used', async () => {
    const names = await server.filled(words);
    await names.createIndex({ word: 1 });
    await names.find({ word: 'a' }).toArray();
    await names.countDocuments({ word: 'a' });
    await names.updateOne({ word: 'a' }, { $set: { n: 1 } });
    await names.find({ word: 'a' }).explain();
    await names.find({}).toArray();
    const stats = await names.aggregate([{ $indexStats: {} }], { promoteLongs: false }).toArray();
    expect(stats).toEqual([
      expect.objectContaining({
        name: '_id_',
        accesses: { ops: Long.fromNumber(0), since: expect.any(Date) },
      }),
      expect.objectContaining({
        name: 'word_1',
        accesses: { ops: Long.fromNumber(3), since: expect.any(Date) },
      }),
    ]);
  });

  // The codes are those of a MongoDB 7.0.
  it.each<[Document, number]>([
    [{ $sortByCount: 'word' }, 40_148],
    [{ $sortByCount: {} }, 40_147],
    [{ $sortByCount: 1 }, 40_149],
    [{ $sample: 1 }, 28_745],
    [{ $sample: {} }, 28_749],
    [{ $sample: { size: 'x' } }, 28_746],
    [{ $sample: { size: -1 } }, 28_747],
    [{ $sample: { size: 1, a: 1 } }, 28_748],
    [{ $collStats: 1 }, 5_447_000],
    [{ $collStats: { foo: {} } }, 40_415],
    [{ $collStats: { count: 1 } }, 14],
    [{ $collStats: { storageStats: { scale: 0 } } }, 51_024],
    [{ $collStats: { latencyStats: {} } }, 115],
    [{ $indexStats: { a: 1 } }, 28_803],
    [{ $facet: { a: [{ $indexStats: {} }] } }, 40_600],
  ])('%j is refused with %d', async (stage, code) => {
    const names = await server.filled(words);
    await expect(names.aggregate([stage]).toArray()).rejects.toMatchObject({ code });
  });

  it('come first where they make documents of their own', async () => {
    const names = await server.filled(words);
    const second = names.aggregate([{ $match: {} }, { $collStats: {} }]).toArray();
    await expect(second).rejects.toMatchObject({ code: 40_602 });
  });
});

describe('explain', () => {
  it('of an aggregation gives its plan in place of its documents', async () => {
    const names = await server.filled(words);
    const pipeline = [{ $match: { word: 'a' } }];
    const reply = await server.run({ aggregate: names.collectionName, pipeline, explain: true });
    expect(reply).toMatchObject({ queryPlanner: { winningPlan: { stage: 'COLLSCAN' } } });
    expect(reply).not.toHaveProperty('cursor');
  });
});

describe('a collation', () => {
  it('that compares byte by byte is what there is, and any other is refused', async () => {
    const names = await server.filled(words);
    const name = names.collectionName;
    const requests = (locale: string): Document[] => {
      const collation = { locale };
      return [
        { find: name, collation },
        { count: name, collation },
        { distinct: name, key: 'word', collation },
        { aggregate: name, pipeline: [], cursor: {}, collation },
        { findAndModify: name, query: { _id: 0 }, update: { $set: { n: 1 } }, collation },
        { update: name, updates: [{ q: { _id: 0 }, u: { $set: { n: 2 } }, collation }] },
        { delete: name, deletes: [{ q: { _id: 100 }, limit: 1, collation }] },
        { createIndexes: name, indexes: [{ key: { word: 1 }, name: `word_${locale}`, collation }] },
        { create: `${name}_${locale}`, collation },
      ];
    };
    for (const request of requests('simple'))
      await expect(server.run(request)).resolves.not.toHaveProperty('writeErrors');
    for (const request of requests('de')) {
      const refused = server.run(request).then(({ writeErrors }) => Promise.reject(writeErrors[0]));
      await expect(refused).rejects.toMatchObject({ code: 115 });
    }
  });
});

describe('the natural order', () => {
  it('can be asked for in a sort, either way', async () => {
    const names = await server.filled(words);
    await names.createIndex({ word: 1 });
    const ids = async (filter: Document, direction: 1 | -1): Promise<unknown[]> => {
      const found = await names.find(filter).sort({ $natural: direction }).toArray();
      return found.map(({ _id }) => _id);
    };
    expect(await ids({}, 1)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await ids({}, -1)).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await ids({ word: 'b' }, -1)).toEqual([4, 2, 0]);
    const last = await names.findOneAndUpdate({}, { $set: { last: true } }, { sort: { $natural: -1 } });
    expect(last?._id).toBe(5);
  });

  it.each<Document>([
    { sort: { $natural: 2 } },
    { sort: { $natural: 1, word: 1 } },
    { sort: { $natural: 1 }, hint: '_id_' },
    { sort: { $natural: 1 }, hint: { $natural: -1 } },
    { hint: { $natural: 0 } },
  ])('cannot be asked for as %j', async (options) => {
    const names = await server.filled(words);
    await expect(server.run({ find: names.collectionName, ...options })).rejects.toMatchObject({ code: 2 });
  });
});
