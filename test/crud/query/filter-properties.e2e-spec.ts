import {
  type ModelQuery,
  type ModelRecord,
  selected,
  selectedWhere,
  written,
  writtenWhere,
} from '../../support/query-model.js';
import { QUERIED_RESOURCES } from '../../support/queried-resources.js';
import { madeQuery, madeRecord, madeWhere } from '../../support/random-queries.js';
import { walkBack, walkForward } from '../../support/walks.js';
import { Random } from '../../support/random.js';
import { useApp } from '../../support/test-app.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random queries of each resource. */
const QUERIES = Number(process.env.QUERIES ?? 150);
const RECORDS = 60;

describe.each(QUERIED_RESOURCES)(
  `random queries of $name, seed ${SEED}`,
  ({ path, collection, start, ...resource }) => {
    const random = new Random(SEED);
    let records: ModelRecord[];

    const app = useApp(start);
    beforeAll(async () => {
      const made = Array.from({ length: RECORDS }, () => madeRecord(random, resource.fields, collection));
      await app.database.collection(collection).insertMany(made.map(({ stored }) => stored));
      records = made.map(({ model }) => model);
    });

    /** Reads the pages of a query by cursors, forward and back. */
    async function walkBothWays(query: ModelQuery, expected: readonly ModelRecord[]): Promise<void> {
      const url = written({ ...query, window: undefined }, () => true);
      const ids = expected.map(({ _id }) => _id);
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
        const expected = selected([...records], query);
        const { window } = query;
        const shown = window ? expected.slice(window.offset, window.offset + window.limit) : expected;
        const { status, body } = await app.get(`${path}?${url}`);
        const results = (window ? body.results : body) as Record<string, unknown>[] | undefined;
        expect({ url, status, ids: results?.map(({ _id }) => _id) }).toEqual({
          url,
          status: 200,
          ids: shown.map(({ _id }) => _id),
        });
        if (window) expect({ url, count: body.count }).toEqual({ url, count: expected.length });
        for (const [at, result] of results?.entries() ?? []) {
          const names = Object.keys(shown[at] ?? {}).filter((name) => shown[at]?.[name] !== null);
          const asked = names.filter(
            (name) => !query.fields || name === '_id' || query.fields.includes(name),
          );
          expect({ url, names: Object.keys(result).sort() }).toEqual({ url, names: asked.sort() });
        }
        if (i % 5 === 1) await walkBothWays(query, expected);
        if (i % 5 > 0) continue;
        const filter = written({ conditions: query.conditions, sort: [] }, () => false).replace(
          /&?sort=$/,
          '',
        );
        const counted = await app.get(`${path}/count?${filter}`);
        expect({ url, body: counted.body }).toEqual({ url, body: { count: expected.length } });
      }
    }, 600_000);

    it('in bodies return the records that the tree of conditions selects', async () => {
      for (let i = 0; i < QUERIES; i++) {
        const where = madeWhere(random, resource.filters, records);
        const sort = random.pick(resource.orders);
        const expected = selectedWhere([...records], where, sort).map(({ _id }) => _id);
        const body = {
          where: writtenWhere(where),
          sort,
          ...(i % 3 === 0 && { limit: 1 + random.below(30) }),
        };
        const text = JSON.stringify(body);
        const response = await app.request(i % 2 ? 'QUERY' : 'POST', i % 2 ? path : `${path}/query`, {
          body,
        });
        const { results = response.body, count = expected.length } = response.body as {
          results?: ModelRecord[];
          count?: number;
        };
        const ids = (results as unknown as ModelRecord[] | undefined)?.map(({ _id }) => _id);
        expect({ text, status: response.status, ids, count }).toEqual({
          text,
          status: 200,
          ids: expected.slice(0, body.limit || expected.length),
          count: expected.length,
        });
      }
    }, 600_000);
  },
);
