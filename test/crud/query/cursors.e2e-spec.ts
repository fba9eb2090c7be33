/** @mongodb */
import mongoose, { Types } from 'mongoose';
import { sortedBy } from '../../support/order-model.js';
import { Random } from '../../support/random.js';
import { createResourceApp } from '../../support/resource-app.js';
import { randomSamples, samples } from '../../support/samples.js';
import { createTestApp, type TestApp, useApp } from '../../support/test-app.js';
import { ACME, GLOBEX } from '../../support/tenants.js';
import { ordersOf, pageOf, type Walk, walkBack, walkForward } from '../../support/walks.js';

type Document = mongoose.mongo.Document;

const SEED = 20_260_301;
const RECORDS = 90;

/** Todos or posts that share most of their values. */
function randomRecords(random: Random, count: number): Document[] {
  const time = () => new Date(1_770_000_000_000 + random.below(8));
  return Array.from({ length: count }, () => ({
    _id: new Types.ObjectId(),
    title: random.pick(['Tea', 'tea', 'Émile', '\u{1F375}', '\uFFFD', 'a\0b', `x${' '.repeat(999)}`]),
    tenant: new Types.ObjectId(random.pick([ACME, GLOBEX])),
    ...random.pick<object>([{ completed: true }, { completed: false }, {}]),
    ...random.pick<object>([{ dueAt: time() }, {}]),
    createdAt: time(),
    updatedAt: time(),
    __v: 0,
  }));
}

interface Resource {
  name: string;
  path: string;
  start: () => Promise<TestApp>;
  records: (random: Random, count: number) => Document[];
}

const resources: Resource[] = [
  { name: 'todos', path: '/todos', start: () => createTestApp(), records: randomRecords },
  { name: 'posts', path: '/posts/api', start: () => createTestApp(), records: randomRecords },
  { name: 'samples', path: '/samples', start: () => createResourceApp(samples), records: randomSamples },
];

describe.each(resources)('a walk through $name by cursors', ({ name, path, start, records }) => {
  let random: Random;
  let stored: Document[];
  const app = useApp(start);
  beforeEach(async () => {
    await app.empty();
    random = new Random(SEED);
    await app.database.collection(name).insertMany(records(random, RECORDS));
    // As the database holds them.
    stored = await app.database.collection(name).find({}, { promoteLongs: false }).toArray();
  });

  const walk = (query: Record<string, string>, more: Partial<Walk> = {}): Walk => ({
    app,
    path,
    query,
    limit: () => 1 + random.below(40),
    ...more,
  });
  const idsOf = (documents: Document[]) => documents.map(({ _id }) => String(_id));

  it('walks the sorted list in every declared order, forward and back', async () => {
    const orders = await ordersOf(app, path);
    expect(orders.length).toBeGreaterThan(5);
    for (const sort of orders) {
      const expected = idsOf(sortedBy(stored, sort));
      const { ids, last } = await walkForward(walk({ sort }));
      expect({ sort, ids }).toEqual({ sort, ids: expected });
      const back = await walkBack(walk({ sort }), last);
      expect({ sort, back }).toEqual({
        sort,
        back: expected.slice(0, expected.length - last.results.length),
      });
    }
  }, 120_000);

  it('continues from any page by offset, in both directions', async () => {
    const expected = idsOf(sortedBy(stored, '-createdAt'));
    const at = walk({ count: 'none' });
    const page = await pageOf({ ...at, limit: () => 10 }, { offset: '40' });
    const { results } = await pageOf({ ...at, limit: () => 100 }, { after: page.next ?? '' });
    expect(idsOf(results)).toEqual(expected.slice(50));
    expect(await walkBack(at, page)).toEqual(expected.slice(0, 40));
  });

  it('leads back from beyond the end, and from a page whose records are gone', async () => {
    const expected = idsOf(sortedBy(stored, '-createdAt'));
    const ten = { ...walk({}), limit: () => 10 };
    const beyond = await pageOf(ten, { offset: '1000' });
    expect(beyond).toEqual({ results: [], count: RECORDS, next: null, prev: expect.any(String) });
    const last = await pageOf(ten, { before: beyond.prev ?? '' });
    expect(idsOf(last.results)).toEqual(expected.slice(-10));

    const { next } = await pageOf(ten, { offset: String(RECORDS - 20) });
    const gone = expected.slice(-10).map((id) => new Types.ObjectId(id));
    await app.database.collection(name).deleteMany({ _id: { $in: gone } });
    const empty = await pageOf(ten, { after: next ?? '' });
    expect(empty).toMatchObject({ results: [], next: null, prev: expect.any(String) });
    // The record that the cursor was made of is the last one now.
    const before = await pageOf(ten, { before: empty.prev ?? '' });
    expect(idsOf(before.results)).toEqual(expected.slice(-20, -10));
    expect(before.next).toBeNull();

    await app.database.collection(name).deleteMany({});
    for (const place of [{ after: next ?? '' }, { before: empty.prev ?? '' }]) {
      expect(await pageOf(ten, place)).toEqual({ results: [], count: 0, next: null, prev: null });
    }
  });

  it('leads forward from an empty page before the first record', async () => {
    const expected = idsOf(sortedBy(stored, '-createdAt'));
    const ten = { ...walk({}), limit: () => 10 };
    const { prev } = await pageOf(ten, { offset: '5' });
    const gone = expected.slice(0, 5).map((id) => new Types.ObjectId(id));
    await app.database.collection(name).deleteMany({ _id: { $in: gone } });
    const empty = await pageOf(ten, { before: prev ?? '' });
    expect(empty).toMatchObject({ results: [], next: expect.any(String), prev: null });
    const { results } = await pageOf(ten, { after: empty.next ?? '' });
    expect(idsOf(results)).toEqual(expected.slice(5, 15));
  });

  it('meets every record that stands throughout once, while others come and go between the pages', async () => {
    for (const sort of await ordersOf(app, path)) {
      const standing = new Set(idsOf(stored));
      const collection = app.database.collection(name);
      const passing: unknown[] = [];
      const between = async () => {
        await collection.deleteMany({ _id: { $in: passing.splice(0, random.below(9)) as Types.ObjectId[] } });
        const { insertedIds } = await collection.insertMany(records(random, 6));
        passing.push(...Object.values(insertedIds));
      };
      const moving = walk({ sort, count: 'none' }, { between });
      const { ids, last } = await walkForward(moving);
      const seen = [...(await walkBack(moving, last)), ...idsOf(last.results)];
      for (const met of [ids, seen]) {
        const known = met.filter((id) => standing.has(id));
        expect({ sort, known }).toEqual({ sort, known: idsOf(sortedBy(stored, sort)) });
      }
      await collection.deleteMany({ _id: { $nin: stored.map(({ _id }) => _id as Types.ObjectId) } });
    }
  }, 180_000);

  it('meets every record that stands throughout once, while writers are at work', async () => {
    const collection = app.database.collection(name);
    const more = records(random, 1_500);
    await collection.insertMany(more);
    const standing = sortedBy([...stored, ...more], '-createdAt');
    const ids = new Set(idsOf(standing));
    let isOver = false;
    const write = async (seed: number) => {
      const own = new Random(seed);
      while (!isOver) {
        const { insertedIds } = await collection.insertMany(records(own, 20));
        await collection.deleteMany({ _id: { $in: Object.values(insertedIds).slice(own.below(20)) } });
      }
    };
    const writers = [1, 2, 3].map(write);
    const walked = await walkForward(walk({ count: 'none' }, { limit: () => 100 })).finally(
      () => (isOver = true),
    );
    await Promise.all(writers);
    expect(walked.ids.filter((id) => ids.has(id))).toEqual(idsOf(standing));
  });
});

it('walks by a field that the filter bounds, too, or that it names', async () => {
  const app = await createTestApp();
  const random = new Random(SEED);
  await app.database.collection('todos').insertMany(randomRecords(random, 120));
  const all = await app.database.collection('todos').find().toArray();
  const bound = new Date(1_770_000_000_005);
  const cases: [Record<string, string>, (todo: Document) => boolean][] = [
    [
      { sort: 'dueAt', 'dueAt[lte]': bound.toISOString() },
      ({ dueAt }) => dueAt !== undefined && dueAt <= bound,
    ],
    [
      { sort: '-dueAt', 'dueAt[gte]': bound.toISOString(), fields: 'title,createdAt,updatedAt' },
      ({ dueAt }) => dueAt !== undefined && dueAt >= bound,
    ],
    [{ sort: '-dueAt', 'dueAt[exists]': 'false' }, ({ dueAt }) => dueAt === undefined],
    [{ sort: 'dueAt', 'dueAt[ne]': bound.toISOString() }, ({ dueAt }) => Number(dueAt) !== Number(bound)],
    [{ sort: 'completed,dueAt', completed: 'true' }, ({ completed }) => completed === true],
    [{ sort: '-title', 'title[in]': 'Tea,tea' }, ({ title }) => title === 'Tea' || title === 'tea'],
    [{ sort: 'title', 'title[contains]': 'E' }, ({ title }) => /e/i.test(title as string)],
  ];
  for (const [query, holds] of cases) {
    const expected = sortedBy(all.filter(holds), query.sort ?? '').map(({ _id }) => String(_id));
    expect(expected.length).toBeGreaterThan(10);
    const walk = { app, path: '/todos', query, limit: () => 1 + random.below(9) };
    const { ids, last } = await walkForward(walk);
    expect({ query, ids }).toEqual({ query, ids: expected });
    expect(await walkBack(walk, last)).toEqual(expected.slice(0, expected.length - last.results.length));
  }
  await app.close();
});
