import type { Document } from 'bson';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const words = ['b', 'a', 'b', 'c', 'b', 'a'].map((word, n) => ({ _id: n, word }) as Document);

describe('explain', () => {
  it('returns the plan of an aggregation instead of its documents', async () => {
    const names = await server.filled(words);
    const pipeline = [{ $match: { word: 'a' } }];
    const reply = await server.run({ aggregate: names.collectionName, pipeline, explain: true });
    expect(reply).toMatchObject({ queryPlanner: { winningPlan: { stage: 'COLLSCAN' } } });
    expect(reply).not.toHaveProperty('cursor');
  });
});

describe('a collation', () => {
  it('that compares byte by byte is accepted, and any other is refused', async () => {
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

describe('variables of a command', () => {
  it('are refused unless there are none', async () => {
    const { collectionName: name } = await server.filled(words);
    await expect(server.run({ find: name, let: {} })).resolves.toBeDefined();
    const requests: Document[] = [
      { find: name, let: { x: 1 } },
      { aggregate: name, pipeline: [], cursor: {}, let: { x: 1 } },
      { delete: name, deletes: [{ q: {}, limit: 0 }], let: { x: 1 } },
    ];
    for (const request of requests) await expect(server.run(request)).rejects.toMatchObject({ code: 115 });
    const updates = [{ q: {}, u: [{ $set: { n: '$$x' } }], c: { x: 1 } }];
    expect(await server.run({ update: name, updates })).toMatchObject({ writeErrors: [{ code: 115 }] });
  });
});

describe('the natural order', () => {
  it('can be requested by a sort, in either direction', async () => {
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
