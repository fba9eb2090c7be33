import type { Collection, Document } from 'mongodb';
import { startTestServer, type TestServer } from './support/server.js';

const scans = 48;

let server: TestServer;
let items: Collection<Document>;

beforeAll(async () => {
  server = await startTestServer();
  const text = 'x'.repeat(400);
  items = await server.filled(Array.from({ length: 10_000 }, (_, n) => ({ n, text })));
});
afterAll(() => server.stop());

describe('many long scans', () => {
  const scan = (options = {}) => items.find({ text: /y$/ }, options).toArray();

  it('let short commands pass between the turns of two of them', async () => {
    let left = scans;
    const all = Array.from({ length: scans }, () => scan().finally(() => left--));
    let answered = 0;
    for (; left > 0; answered++) await items.findOne({ n: 1 });
    await Promise.all(all);
    // One for each round of all scans would be a few.
    expect(answered).toBeGreaterThan(scans);
  });

  it('end at their deadline while they wait for a turn', async () => {
    const all = Array.from({ length: scans }, () => scan({ maxTimeMS: 20 }));
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(scans / 2);
    expect(await items.findOne({ n: 1 }, { projection: { _id: 0, n: 1 } })).toEqual({ n: 1 });
  });
});
