/** @mongodb */
import { asId, createQueriedApp, QUERIED_RESOURCES, madeRecord } from '../../support/queried-resources.js';
import { type ModelRecord, selected } from '../../support/query-model.js';
import { Random } from '../../support/random.js';
import { useApp } from '../../support/test-app.js';
import { ordersOf, pageOf, type Walk, walkBack, walkForward } from '../../support/walks.js';

const SEED = 20_260_301;
const RECORDS = 90;

const app = useApp(createQueriedApp);

describe.each(QUERIED_RESOURCES)('a walk through $name by cursors', ({ path, collection, fields }) => {
  let random: Random;
  let records: ModelRecord[];
  beforeEach(async () => {
    await app.empty();
    random = new Random(SEED);
    records = await store(RECORDS);
  });

  /** Stores so many records that share most of their values. */
  async function store(count: number): Promise<ModelRecord[]> {
    const made = Array.from({ length: count }, () => madeRecord(random, fields, collection));
    await app.database.collection(collection).insertMany(made.map(({ stored }) => stored));
    return made.map(({ model }) => model);
  }
  const remove = (ids: string[]) =>
    app.database.collection(collection).deleteMany({ _id: { $in: ids.map(asId) } });
  const walk = (query: Record<string, string>, more: Partial<Walk> = {}): Walk => {
    return { app, path, query, limit: () => 1 + random.below(40), ...more };
  };
  const idsOf = (some: { _id: string }[]) => some.map(({ _id }) => _id);
  const sorted = (sort: string) => idsOf(selected(records, { conditions: [], sort: sort.split(',') }));

  it('continues from any page by offset, in both directions', async () => {
    const expected = sorted('-createdAt');
    const at = walk({ count: 'none' });
    const page = await pageOf({ ...at, limit: () => 10 }, { offset: '40' });
    const { results } = await pageOf({ ...at, limit: () => 100 }, { after: page.next ?? '' });
    expect(idsOf(results)).toEqual(expected.slice(50));
    expect(await walkBack(at, page)).toEqual(expected.slice(0, 40));
  });

  it('leads back from beyond the end, and from a page whose records are gone', async () => {
    const expected = sorted('-createdAt');
    const ten = walk({}, { limit: () => 10 });
    const beyond = await pageOf(ten, { offset: '1000' });
    expect(beyond).toEqual({ results: [], count: RECORDS, next: null, prev: expect.any(String) });
    const last = await pageOf(ten, { before: beyond.prev ?? '' });
    expect(idsOf(last.results)).toEqual(expected.slice(-10));

    const { next } = await pageOf(ten, { offset: String(RECORDS - 20) });
    await remove(expected.slice(-10));
    const empty = await pageOf(ten, { after: next ?? '' });
    expect(empty).toMatchObject({ results: [], next: null, prev: expect.any(String) });
    // The record that the cursor was made of is the last one now.
    const before = await pageOf(ten, { before: empty.prev ?? '' });
    expect(idsOf(before.results)).toEqual(expected.slice(-20, -10));
    expect(before.next).toBeNull();

    await app.database.collection(collection).deleteMany({});
    for (const place of [{ after: next ?? '' }, { before: empty.prev ?? '' }])
      expect(await pageOf(ten, place)).toEqual({ results: [], count: 0, next: null, prev: null });
  });

  it('leads forward from an empty page before the first record', async () => {
    const expected = sorted('-createdAt');
    const ten = walk({}, { limit: () => 10 });
    const { prev } = await pageOf(ten, { offset: '5' });
    await remove(expected.slice(0, 5));
    const empty = await pageOf(ten, { before: prev ?? '' });
    expect(empty).toMatchObject({ results: [], next: expect.any(String), prev: null });
    const { results } = await pageOf(ten, { after: empty.next ?? '' });
    expect(idsOf(results)).toEqual(expected.slice(5, 15));
  });

  it('meets every record that stands throughout once, while others come and go between the pages', async () => {
    // Each second one is the reverse of the first, which is walked back.
    for (const sort of (await ordersOf(app, path)).filter((_, i) => i % 2 === 0)) {
      const standing = new Set(idsOf(records));
      const passing: string[] = [];
      const between = async () => {
        await remove(passing.splice(0, random.below(9)));
        passing.push(...idsOf(await store(6)));
      };
      const moving = walk({ sort, count: 'none' }, { between });
      const { ids, last } = await walkForward(moving);
      const seen = [...(await walkBack(moving, last)), ...idsOf(last.results)];
      for (const met of [ids, seen]) {
        const known = met.filter((id) => standing.has(id));
        expect({ sort, known }).toEqual({ sort, known: sorted(sort) });
      }
      await remove(passing);
    }
  }, 180_000);
});
