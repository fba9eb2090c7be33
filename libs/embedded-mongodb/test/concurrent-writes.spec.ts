import type { Collection, Document, UpdateFilter } from 'mongodb';
import { startTestServer, type TestServer } from './support/server.js';

const documents = 2_000;

let server: TestServer;
let items: Collection<Document>;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  const text = 'x'.repeat(400);
  items = await server.filled(
    Array.from({ length: documents }, (_, n) => ({ _id: n, v: n, tags: [n], times: 0, text })),
  );
  await items.createIndexes([{ key: { v: 1 } }, { key: { tags: 1 } }]);
});

/** Matches every document after so long that the writes of others fall into the search. */
const slowly = { text: { $not: /x*y/ } };

/** A slow search, and two quick ones that change the documents while it goes on. */
function atOnce<T>(work: (condition: Document) => Promise<T>): Promise<T[]> {
  return Promise.all([slowly, {}, {}].map(work));
}

describe('writes on many documents at the same time', () => {
  it.each<[string, Document, UpdateFilter<Document>]>([
    ['forward in an index', { v: { $gte: 0 } }, { $inc: { v: 1_000, times: 1 } }],
    ['backward in an index', { v: { $lt: documents } }, { $inc: { v: -1_000, times: 1 } }],
    [
      'in one of several indexes',
      { $or: [{ v: { $lt: documents } }, { tags: -1 }] },
      { $inc: { v: -1_000, times: 1 } },
    ],
    ['in an index of arrays', { tags: { $gte: 0 } }, { $set: { 'tags.0': 0 }, $inc: { times: 1 } }],
    ['without an index', {}, { $inc: { v: 1, times: 1 } }],
  ])('change each document once for each of them if it moves %s', async (_, filter, update) => {
    const results = await atOnce((condition) => items.updateMany({ ...filter, ...condition }, update));
    expect(results.map(({ modifiedCount }) => modifiedCount)).toEqual([documents, documents, documents]);
    expect(await items.distinct('times')).toEqual([3]);
  });

  it('change each document once for each statement of a batch', async () => {
    await atOnce((condition) => {
      const update = { $inc: { v: 1_000, times: 1 } };
      const statement = { updateMany: { filter: { v: { $gte: 0 }, ...condition }, update } };
      return items.bulkWrite([statement, statement]);
    });
    expect(await items.distinct('times')).toEqual([6]);
  });

  it('change only what still matches when its turn comes', async () => {
    const claims = await atOnce((condition) =>
      items.updateMany({ v: { $gte: 0 }, times: 0, ...condition }, { $inc: { v: 1_000, times: 1 } }),
    );
    expect(claims.reduce((sum, { modifiedCount }) => sum + modifiedCount, 0)).toBe(documents);
    expect(await items.distinct('times')).toEqual([1]);
  });

  it('remove each document although others move it', async () => {
    const filter = { v: { $lt: documents } };
    const [{ deletedCount }] = await Promise.all([
      items.deleteMany({ ...filter, ...slowly }),
      items.updateMany(filter, { $inc: { v: -1_000 } }),
      items.updateMany(filter, { $inc: { v: -1_000 } }),
    ]);
    expect(deletedCount).toBe(documents);
  });
});
