import { type ModelQuery, type ModelRecord, selected } from '../../support/query-model.js';
import { selectedWhere, written, writtenWhere } from '../../support/query-model.js';
import {
  createQueriedApp,
  QUERIED_RESOURCES,
  madeQuery,
  madeRecord,
  madeWhere,
} from '../../support/queried-resources.js';
import { each } from '../../support/records.js';
import { walkBack, walkForward } from '../../support/walks.js';
import { Random } from '../../support/random.js';
import { useApp } from '../../support/test-app.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random queries of each resource. */
const QUERIES = Number(process.env.QUERIES ?? 75);
const RECORDS = 60;

const app = useApp(createQueriedApp);

describe.each(QUERIED_RESOURCES)(`random queries of $name, seed ${SEED}`, (resource) => {
  const { path, collection } = resource;
  const random = new Random(SEED);
  let records: ModelRecord[];

  beforeAll(async () => {
    const made = Array.from({ length: RECORDS }, () => madeRecord(random, resource.fields, collection));
    await app.database.collection(collection).insertMany(made.map(({ stored }) => stored));
    records = made.map(({ model }) => model);
  });

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
