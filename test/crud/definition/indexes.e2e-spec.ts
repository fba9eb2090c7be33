/** @mongodb */
import { Types } from 'mongoose';
import { Prop } from '@nestjs/mongoose';
import { anyOf, claim, currentTenant, IsIdentifier, IsListOf, IsText, schemaOf } from '../../../src/index.js';
import { plansOf, type QueryPlan } from '../../support/query-plans.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { feature, resource } from '../../support/resource.js';
import { ACME, acme as token, GLOBEX, tokenOf } from '../../support/tenants.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';
import { ordersOf, pageOf } from '../../support/walks.js';

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

/** A count of all records is an aggregation, one with a condition is not. */
const COUNT = expect.stringMatching(/^(aggregate|count)$/) as string;

type Read = [what: string, method: string, suffix: string, commands: string[], body?: object];
/** Reads of a tenant's posts, the archived ones alone or among the live ones. */
const OF_ARCHIVE = ['archived=only', 'archived=include'].flatMap((archived): Read[] => [
  [`read the list with ${archived}`, 'GET', `?${archived}`, ['find']],
  [`read a page with ${archived}`, 'GET', `?${archived}&offset=5&limit=5`, [COUNT, 'find']],
  [`read a page with ${archived} by time`, 'GET', `?${archived}&sort=-deletedAt&limit=5`, [COUNT, 'find']],
  [`read the list with ${archived} by title`, 'GET', `?${archived}&sort=title`, ['find']],
  [`count with ${archived}`, 'GET', `/count?${archived}`, [COUNT]],
]);

function expectNoScan(plans: QueryPlan[]): void {
  const stages = expect.not.arrayContaining([expect.stringMatching(/^(COLLSCAN|SORT|\$sort)$/)]) as string[];
  for (const plan of plans) expect(plan).toEqual({ ...plan, stages });
}

const generated = useTestApp({ root: serviceWith({ imports: [letters, parcels] }) });
const handwritten = useTestApp({ env: { TODOS_API: 'handwritten' } });

describe.each([
  ['posts', 'posts'],
  ['generated todos', 'todos'],
  ['handwritten todos', 'todos'],
  ['a resource isolated in every action', 'letters'],
  ['a resource isolated in its count alone', 'parcels'],
])('the commands behind %s', (resource, collection) => {
  const path = collection === 'posts' ? '/posts/api' : `/${collection}`;
  // The generated form reads what it replaces in the same operation, for its hooks.
  const isHandwritten = resource === 'handwritten todos';
  let id: string;
  const app = isHandwritten ? handwritten : generated;
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

  /** Asserts that one request succeeds, and sends the commands named, each by an index. */
  async function expectIndexed(method: string, suffix: string, commands: string[], body?: object) {
    const found = await plansOf(app, collection, async () => {
      expect((await app.request(method, path + suffix, { body, token })).status).toBe(200);
    });
    expect(found.map(({ command }) => command).sort()).toEqual(commands);
    expectNoScan(found);
  }

  it.each<Read>([
    ['read the list, newest first,', 'GET', '', ['find']],
    ['read a page, and count behind it,', 'GET', '?offset=20&limit=20', [COUNT, 'find']],
    ...(isHandwritten ? [] : [['count', 'GET', '/count', [COUNT]] as Read]),
    ...(resource === 'posts' ? OF_ARCHIVE : []),
    ['get one record', 'GET', '/:id', ['find']],
    ['update', 'PATCH', '/:id', ['findAndModify'], { title: 'Changed' }],
  ])('%s by an index', async (_what, method, suffix, commands, body) => {
    await expectIndexed(method, suffix.replace(':id', id), commands, body);
  });

  it('read the list and its pages in every order by an index', async () => {
    for (const order of isHandwritten ? [] : await ordersOf(app, path, { token })) {
      await expectIndexed('GET', `?sort=${order}`, ['find']);
      await expectIndexed('GET', `?sort=${order}&limit=20`, [COUNT, 'find']);
    }
  });

  it('look for the record of an empty update by an index', async () => {
    const found = await plansOf(app, collection, () => app.patch(`${path}/${id}`, {}, { token }));
    expect(found.length).toBeLessThan(2);
    expectNoScan(found);
  });

  it('delete, or archive, by an index', async () => {
    await expectIndexed('DELETE', `/${id}`, [isHandwritten ? 'delete' : 'findAndModify']);
  });
});

const RECORDS = 600;
const LIMIT = 10;
/** More than the page itself: an index that is entered once for each range, and the record on the other side. */
const OVERHEAD = 12;

describe.each([
  ['todos', '/todos'],
  ['posts', '/posts/api'],
  ['letters', '/letters'],
])('what pages of %s cost', (collection, path) => {
  const app = generated;
  beforeAll(async () => {
    await app.empty();
    const start = 1_770_000_000_000;
    const records = Array.from({ length: RECORDS }, (_, i) => ({
      title: `Title ${i % 50}`,
      tenant: new Types.ObjectId(i % 2 === 0 ? ACME : GLOBEX),
      completed: i % 3 === 0,
      createdAt: new Date(start + Math.floor(i / 3)),
      updatedAt: new Date(start + ((i * 7_919) % RECORDS)),
      ...(i % 2 === 0 && { dueAt: new Date(start + (i % 100)) }),
      ...(i % 5 === 0 && { deletedAt: new Date(start + i) }),
      __v: 0,
    }));
    await app.database.collection(collection).insertMany(records);
  });

  it('reads no more in the middle and at the end than at the start, in every order, without sorting', async () => {
    for (const sort of await ordersOf(app, path, { token })) {
      const walk = { app, path, query: { sort, count: 'none' }, limit: () => LIMIT, request: { token } };
      const deep = await pageOf(walk, { offset: '100' });
      const beyond = await pageOf(walk, { offset: String(RECORDS) });
      for (const place of [
        { after: deep.next ?? '' },
        { before: deep.prev ?? '' },
        { before: beyond.prev ?? '' },
        { after: beyond.prev ?? '' },
      ]) {
        const plans = await plansOf(app, collection, () => pageOf(walk, place));
        expect(plans.length).toBeGreaterThan(1);
        expectNoScan(plans);
        const keys = plans.reduce((sum, plan) => sum + plan.keysExamined, 0);
        const documents = plans.reduce((sum, plan) => sum + plan.documentsExamined, 0);
        const isCheap = keys <= 2 * LIMIT + OVERHEAD && documents <= LIMIT + OVERHEAD;
        expect({ sort, place, keys, documents, isCheap }).toMatchObject({ isCheap: true });
      }
    }
  }, 120_000);

  it('counts by the keys of an index, without reading a record, unless told not to count', async () => {
    const uncounted = await plansOf(app, collection, () => app.get(`${path}?limit=5&count=none`, { token }));
    expect(uncounted.map(({ command }) => command)).toEqual(['find']);
    for (const suffix of ['?limit=1', '?limit=1&count=exact', '?limit=1&count=estimated', '/count']) {
      const plans = await plansOf(app, collection, () => app.get(path + suffix, { token }));
      const counts = plans.filter(({ command }) => command !== 'find');
      expect(counts).toMatchObject([{ documentsExamined: 0 }]);
      // The collection's own figure needs no plan.
      const stages = counts.flatMap((count) => (count.command === 'count' ? [] : count.stages));
      expect(stages).toEqual(expect.not.arrayContaining([expect.stringMatching(/COLLSCAN|FETCH/)]));
    }
  });
});

it('a plan without an index is reported', async () => {
  const service = handwritten.connection.collection('todos');
  const [plan] = await plansOf(handwritten, 'todos', async () => {
    await service.find({ description: 'a' }).sort({ description: 1 }).toArray();
  });
  expect(plan?.stages).toEqual(expect.arrayContaining(['COLLSCAN', 'SORT']));
});

it('a dropped index only makes reads slower', async () => {
  const app = generated;
  await app.empty();
  const { _id } = (await app.post('/todos', { title: 'Tea' })).body as { _id: string };
  await app.database.collection('todos').dropIndexes();
  expect((await app.get('/todos?fields=title')).body).toEqual([{ _id, title: 'Tea' }]);
  const page = await app.get('/todos?fields=title&limit=1&sort=title&count=none');
  expect(page.body).toEqual({ results: [{ _id, title: 'Tea' }], next: null, prev: null });
});

const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];

const list = Prop({ type: [String] });
const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
/** Some may read it, and some may change it. */
const outline = {
  kept: { readers: list, writers: list, deletedAt: Prop({ type: Date }) },
  isolationFields: { get: reader, create: { ...reader, ...writer }, update: writer, del: writer },
};
const reports = resource({ name: 'reports', ...outline });
const schema = () => schemaOf(reports.entity);
const start = (change: object) => createResourceApp({ ...reports, ...change });

describe('a resource that isolates reads and writes by two lists', () => {
  const query = { sort: ['text'], search: ['text'] };
  const archive = { field: 'deletedAt' };
  const newest = schema().index({ readers: 1, createdAt: -1, _id: -1 }, { name: 'newest' });
  const cases: [string, string, object][] = [
    ['no query', '', {}],
    ['orders, a search and an archive', '?q=tea&sort=text&archived=include', { query, archive }],
    ['the index of its lists', '?limit=5', { schema: newest }],
    ['one index written twice', '?limit=5', { schema: schema().index({ text: 1 }).index({ text: 1 }) }],
  ];
  const app = useResourceApp(
    ...cases.map(([, , change], i) => resource({ name: `reports${i}`, ...outline, ...change })),
  );

  const served = cases.map(([name, query], i) => [name, `/reports${i}`, query]);
  it.each(served)('serves records with %s', async (_name, path, query) => {
    const id = await app.create(path, { text: 'tea' }, ada);
    const read = async (token: string) => {
      const { body } = await app.get(path + query, { token });
      return ('results' in body ? body.results : body) as object[];
    };
    expect(await read(ada)).toMatchObject([{ _id: id, text: 'tea', readers: ['ada'], writers: ['ada'] }]);
    expect(await read(bob)).toEqual([]);
    expect((await app.patch(`${path}/${id}`, { text: 'x' }, { token: bob })).status).toBe(404);
    expect((await app.patch(`${path}/${id}`, { text: 'x' }, { token: ada })).status).toBe(200);
  });
});

it('a unique index of one list keeps values unique among those in that list', async () => {
  await using app = await start({
    schema: schema().index({ readers: 1, text: 1 }, { unique: true }),
    globallyUnique: ['readers', 'text'],
    isolationFields: { all: { ...reader, ...writer } },
  });
  const statuses = [];
  for (const token of [ada, bob, ada])
    statuses.push((await app.post('/reports', { text: 'tea' }, { token })).status);
  expect(statuses).toEqual([201, 201, 409]);
});

it('a unique value beside a list of readers that clients write stops the start', async () => {
  const members = IsListOf(IsText({ max: 9 }), { max: 5, optional: true });
  const fields = { members, slug: IsText({ max: 20 }) };
  const startOf = async (isolationFields: object, keys: Record<string, 1>) => {
    const kept = { author: Prop({ type: String }) };
    const notes = resource({ name: 'notes', fields, kept, isolationFields });
    const schema = schemaOf(notes.entity).index(keys, { unique: true });
    await (await createResourceApp({ ...notes, schema })).close();
  };
  const [author, shared] = [{ author: claim('sub') }, { members: claim('sub') }];
  const told = 'tells those who write "members" of others.';
  await expect(startOf({ all: shared }, { slug: 1 })).rejects.toThrow(`unique {"slug":1} ${told}`);
  const either = { create: author, get: anyOf(author, shared) };
  await expect(startOf(either, { members: 1, slug: 1 })).rejects.toThrow(told);
});
