/** @mongodb */
import {
  type QueriedResource,
  asId,
  createQueriedApp,
  madeQuery,
  madeRecord,
  madeWhere,
  QUERIED_RESOURCES,
} from '../../support/queried-resources.js';
import {
  type ModelQuery,
  type ModelRecord,
  selected,
  selectedWhere,
  written,
  writtenWhere,
} from '../../support/query-model.js';
import { Random } from '../../support/random.js';
import { each } from '../../support/records.js';
import { useApp } from '../../support/test-app.js';
import { ordersOf, pageOf, type Walk, walkBack, walkForward } from '../../support/walks.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random queries of each resource. */
const QUERIES = Number(process.env.QUERIES ?? 25);
const RECORDS = 90;

const app = useApp(createQueriedApp);

/** Stores so many records that share most of their values, and gives what the model knows of them. */
async function store(random: Random, { fields, collection }: QueriedResource, count = RECORDS) {
  const made = Array.from({ length: count }, () => madeRecord(random, fields, collection));
  await app.database.collection(collection).insertMany(made.map(({ stored }) => stored));
  return made.map(({ model }) => model);
}

describe.each(QUERIED_RESOURCES)(`random queries of $name, seed ${SEED}`, (resource) => {
  const { path } = resource;
  const random = new Random(SEED);
  let records: ModelRecord[];

  beforeAll(async () => void (records = await store(random, resource)));

  /** Reads the pages of a query by cursors, forward and back. */
  async function walkBothWays(query: ModelQuery, ids: readonly unknown[]): Promise<void> {
    const url = written({ ...query, window: undefined }, () => true);
    const limit = () => 1 + random.below(20);
    const walk = { app, path, query: Object.fromEntries(new URLSearchParams(url)), limit };
    const forward = await walkForward(walk);
    expect({ url, ids: forward.ids }).toEqual({ url, ids });
    const back = await walkBack(walk, forward.last);
    expect({ url, back }).toEqual({ url, back: ids.slice(0, ids.length - forward.last.results.length) });
  }

  it('return the records that the rules select, in the order that they define', async () => {
    for (let i = 0; i < QUERIES; i++) {
      const query = madeQuery(random, resource, records);
      const url = written(query, () => random.chance(0.5));
      const expected = selected(records, query);
      const { window } = query;
      const shown = window ? expected.slice(window.offset, window.offset + window.limit) : expected;
      const { status, body } = await app.get(`${path}?${url}`);
      const results = (window ? body.results : body) as ModelRecord[] | undefined;
      const answered = { url, status, ids: results?.map(({ _id }) => _id) };
      expect(answered).toEqual({ url, status: 200, ids: each(shown, '_id') });
      if (window) expect({ url, count: body.count }).toEqual({ url, count: expected.length });
      for (const [at, result] of results?.entries() ?? []) {
        const names = Object.entries(shown[at] ?? {}).filter(([name, value]) => {
          return value !== null && (!query.fields || name === '_id' || query.fields.includes(name));
        });
        expect({ url, names: Object.keys(result).sort() }).toEqual({ url, names: each(names, '0').sort() });
      }
      if (i % 5 === 1) await walkBothWays(query, each(expected, '_id'));
      if (i % 5 > 0) continue;
      const filter = written({ conditions: query.conditions, sort: [] }, () => false);
      const counted = await app.get(`${path}/count?${filter.replace(/&?sort=$/, '')}`);
      expect({ url, body: counted.body }).toEqual({ url, body: { count: expected.length } });
    }
  }, 600_000);

  it('in bodies return the records that the tree of conditions selects', async () => {
    for (let i = 0; i < QUERIES; i++) {
      const where = madeWhere(random, resource.filters, records);
      const sort = random.pick(resource.orders);
      const expected = each(selectedWhere(records, where, sort), '_id');
      const limited = i % 3 === 0 && { limit: 1 + random.below(30) };
      const body = { where: writtenWhere(where), sort, ...limited };
      const sent = i % 2 ? app.request('QUERY', path, { body }) : app.post(`${path}/query`, body);
      const response = await sent;
      const { results = response.body, count = expected.length } = response.body;
      const answered = { body, status: response.status, ids: each(results, '_id'), count };
      const ids = limited ? expected.slice(0, limited.limit) : expected;
      expect(answered).toEqual({ body, status: 200, ids, count: expected.length });
    }
  }, 600_000);
});

describe.each(QUERIED_RESOURCES)('a walk through $name by cursors', (resource) => {
  const { path, collection } = resource;
  let random: Random;
  let records: ModelRecord[];
  beforeEach(async () => {
    await app.empty();
    random = new Random(SEED);
    records = await store(random, resource);
  });

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
        passing.push(...idsOf(await store(random, resource, 6)));
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
