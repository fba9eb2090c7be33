/** @mongodb */
import { Types } from 'mongoose';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { IsIdentifier, IsText } from '../../../src/common/fields/index.js';
import { plansOf, type QueryPlan } from '../../support/query-plans.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp, useApp } from '../../support/test-app.js';
import { feature } from '../../support/resource.js';

const token = await tokenOf(ACME);

const tenant = { tenant: currentTenant };
const titled = {
  fields: { title: IsText({ min: 1, max: 100, example: 'Dear Ada' }) },
  kept: { tenant: IsIdentifier() },
};
/** Isolated in every action, reads included. */
const letters = feature({
  name: 'letters',
  ...titled,
  query: { filter: ['title'], sort: ['title', ['-title', '-updatedAt']] },
  isolationFields: { all: tenant },
});
/** Public to read; counted per tenant. */
const parcels = feature({ name: 'parcels', ...titled, isolationFields: { count: tenant, create: tenant } });

interface Case {
  resource: string;
  collection: string;
  path: string;
  start: () => Promise<TestApp>;
  hasCount: boolean;
  /** Orders that a client can ask for; each has its reverse. */
  orders: string[];
}

const cases: Case[] = [
  {
    resource: 'posts',
    collection: 'posts',
    path: '/posts/api',
    start: () => createTestApp(),
    hasCount: true,
    orders: ['-createdAt', '-updatedAt', 'title'],
  },
  {
    resource: 'generated todos',
    collection: 'todos',
    path: '/todos',
    start: () => createTestApp(),
    hasCount: true,
    orders: ['-createdAt', '-updatedAt', 'dueAt', 'title', 'completed,dueAt'],
  },
  {
    resource: 'handwritten todos',
    collection: 'todos',
    path: '/todos',
    start: () => createTestApp({ env: { TODOS_API: 'handwritten' } }),
    hasCount: false,
    orders: [],
  },
  {
    resource: 'a resource isolated in every action',
    collection: 'letters',
    path: '/letters',
    start: () => createResourceApp(letters),
    hasCount: true,
    orders: ['-createdAt', 'title', '-title,-updatedAt'],
  },
  {
    resource: 'a resource isolated in its count alone',
    collection: 'parcels',
    path: '/parcels',
    start: () => createResourceApp(parcels),
    hasCount: true,
    orders: ['-createdAt'],
  },
];

/** A count of all records is an aggregation, one with a condition is not. */
const COUNT = expect.stringMatching(/^(aggregate|count)$/) as string;

const NO_SCAN_NO_SORT = expect.not.arrayContaining([expect.stringMatching(/^(COLLSCAN|SORT|\$sort)$/)]);

describe.each(cases)(
  'the commands behind $resource',
  ({ resource, collection, path, start, hasCount, orders }) => {
    // The generated form reads what it replaces in the same operation, for its hooks.
    const isHandwritten = resource === 'handwritten todos';
    let id: string;

    const app = useApp(start);
    beforeAll(async () => {
      const now = Date.now();
      const records = Array.from({ length: 500 }, (_, i) => ({
        title: `Record ${i}`,
        tenant: new Types.ObjectId(i % 2 === 0 ? ACME : GLOBEX),
        createdAt: new Date(now + i),
        updatedAt: new Date(now + i),
        ...(i % 3 === 0 && { deletedAt: new Date(now + i) }),
        __v: 0,
      }));
      const { insertedIds } = await app.database.collection(collection).insertMany(records);
      id = String(insertedIds[2]);
    });

    /** The plans of one request, which must succeed and send at least the commands named. */
    async function plans(
      method: string,
      suffix: string,
      commands: string[],
      body?: object,
    ): Promise<QueryPlan[]> {
      const found = await plansOf(app, collection, async () => {
        const { status } = await app.request(method, path + suffix, { body, token });
        expect(status).toBe(200);
      });
      expect(found.map(({ command }) => command).sort()).toEqual(commands);
      return found;
    }

    function expectIndexed(found: QueryPlan[]): void {
      for (const plan of found) expect(plan).toEqual({ ...plan, stages: NO_SCAN_NO_SORT });
    }

    it('read the list, newest first, by an index', async () => {
      expectIndexed(await plans('GET', '', ['find']));
    });

    it('read a page, and count behind it, by an index', async () => {
      expectIndexed(await plans('GET', '?offset=20&limit=20', [COUNT, 'find']));
    });

    it('read the list and its pages in every order, and in its reverse, by an index', async () => {
      for (const order of orders.flatMap((keys) => [keys, reversed(keys)])) {
        expectIndexed(await plans('GET', `?sort=${order}`, ['find']));
        expectIndexed(await plans('GET', `?sort=${order}&limit=20`, [COUNT, 'find']));
      }
    });

    if (hasCount) {
      it('count by an index', async () => {
        expectIndexed(await plans('GET', '/count', [COUNT]));
      });
    }

    it('get one record by an index', async () => {
      expectIndexed(await plans('GET', `/${id}`, ['find']));
    });

    it('update by an index', async () => {
      // The listeners of posts want the record.
      const command = isHandwritten || resource === 'posts' ? 'findAndModify' : 'update';
      expectIndexed(await plans('PATCH', `/${id}`, [command], { title: 'Changed' }));
    });

    it('look for the record of an empty update by an index', async () => {
      const [plan, ...others] = await plansOf(app, collection, () =>
        app.patch(`${path}/${id}`, {}, { token }),
      );
      expect(others).toEqual([]);
      expectIndexed(plan ? [plan] : []);
    });

    it('delete, or archive, by an index', async () => {
      const found = await plans('DELETE', `/${id}`, [isHandwritten ? 'delete' : 'findAndModify']);
      expectIndexed(found);
    });
  },
);

function reversed(order: string): string {
  const keys = order.split(',').map((key) => (key.startsWith('-') ? key.slice(1) : `-${key}`));
  return keys.join();
}

it('a plan without an index is reported', async () => {
  const app = await createTestApp();
  const todos = app.database.collection('todos');
  await todos.insertMany([{ description: 'a' }, { description: 'b' }]);
  const service = app.connection;
  const [plan] = await plansOf(app, 'todos', async () => {
    await service.collection('todos').find({ description: 'a' }).sort({ description: 1 }).toArray();
  });
  expect(plan?.stages).toEqual(expect.arrayContaining(['COLLSCAN', 'SORT']));
  await app.close();
});

it('a dropped index only makes reads slower', async () => {
  const app = await createTestApp();
  const { _id } = (await app.post('/todos', { title: 'Tea' })).body as { _id: string };
  await app.database.collection('todos').dropIndexes();
  const list = (await app.get('/todos?fields=title')).body as object;
  expect(list).toEqual([{ _id, title: 'Tea' }]);
  const page = await app.get('/todos?fields=title&limit=1&sort=title&count=none');
  expect(page.body).toEqual({ results: [{ _id, title: 'Tea' }], next: null, prev: null });
  await app.close();
});
