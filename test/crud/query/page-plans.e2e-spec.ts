/** @mongodb */
import { Types } from 'mongoose';
import { plansOf } from '../../support/query-plans.js';
import { ACME, acme as token, GLOBEX } from '../../support/tenants.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';
import { ordersOf, pageOf } from '../../support/walks.js';
import { feature, OF_TENANT } from '../../support/resource.js';
import { IsText } from '../../../src/common/fields/index.js';

const RECORDS = 2_000;
const LIMIT = 10;

/** More than the page itself: an index that is entered once for each range, and the record on the other side. */
const OVERHEAD = 12;

const letters = feature({
  name: 'letters',
  fields: { title: IsText({ max: 100 }) },
  ...OF_TENANT,
  query: { filter: ['title'], sort: ['title'] },
});

const start = 1_770_000_000_000;
const records = () =>
  Array.from({ length: RECORDS }, (_, i) => ({
    title: `Title ${i % 50}`,
    tenant: new Types.ObjectId(i % 2 === 0 ? ACME : GLOBEX),
    completed: i % 3 === 0,
    createdAt: new Date(start + Math.floor(i / 3)),
    updatedAt: new Date(start + ((i * 7_919) % RECORDS)),
    ...(i % 2 === 0 && { dueAt: new Date(start + (i % 100)) }),
    ...(i % 5 === 0 && { deletedAt: new Date(start + i) }),
    __v: 0,
  }));

const app = useTestApp({ root: serviceWith({ imports: [letters] }) });

describe.each([
  ['todos', '/todos'],
  ['posts', '/posts/api'],
  ['letters', '/letters'],
])('what pages of %s cost', (collection, path) => {
  beforeAll(async () => void (await app.database.collection(collection).insertMany(records())));

  it('reads no more in the middle and at the end than at the start, in every order, without sorting', async () => {
    for (const sort of await ordersOf(app, path, { token })) {
      const walk = { app, path, query: { sort, count: 'none' }, limit: () => LIMIT, request: { token } };
      const deep = await pageOf(walk, { offset: '500' });
      const beyond = await pageOf(walk, { offset: String(RECORDS) });
      for (const place of [
        { after: deep.next ?? '' },
        { before: deep.prev ?? '' },
        { before: beyond.prev ?? '' },
        { after: beyond.prev ?? '' },
      ]) {
        const plans = await plansOf(app, collection, () => pageOf(walk, place));
        expect(plans.length).toBeGreaterThan(1);
        const stages = plans.flatMap((plan) => plan.stages);
        const keys = plans.reduce((sum, plan) => sum + plan.keysExamined, 0);
        const documents = plans.reduce((sum, plan) => sum + plan.documentsExamined, 0);
        const isCheap = keys <= 2 * LIMIT + OVERHEAD && documents <= LIMIT + OVERHEAD;
        const isByIndex = !stages.includes('COLLSCAN') && !stages.includes('SORT');
        const cost = { sort, place, stages, keys, documents, isCheap, isByIndex };
        expect(cost).toMatchObject({ isCheap: true, isByIndex: true });
      }
    }
  }, 120_000);

  it('counts by the keys of an index, without reading a record', async () => {
    for (const suffix of ['?limit=1', '?limit=1&count=exact', '?limit=1&count=estimated', '/count']) {
      const plans = await plansOf(app, collection, () => app.get(path + suffix, { token }));
      const counts = plans.filter(({ command }) => command !== 'find');
      expect(counts).toMatchObject([{ documentsExamined: 0 }]);
      // The collection's own figure needs no plan.
      const stages = counts.flatMap((count) => (count.command === 'count' ? [] : count.stages));
      expect(stages).toEqual(expect.not.arrayContaining([expect.stringMatching(/COLLSCAN|FETCH/)]));
    }
  });

  it('does not count if told not to', async () => {
    const plans = await plansOf(app, collection, () => app.get(`${path}?limit=5&count=none`, { token }));
    expect(plans.map(({ command }) => command)).toEqual(['find']);
  });
});
