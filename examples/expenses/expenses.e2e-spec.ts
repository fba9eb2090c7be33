/** @mongodb */
import { EventEmitter2 } from '@nestjs/event-emitter';
import { createResourceApp } from '../../test/support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../test/support/tenants.js';
import type { TestApp } from '../../test/support/test-app.js';
import { ExpensesModule } from './expenses.module.js';

describe('expenses', () => {
  let app: TestApp;
  const acme = { token: '' };
  const globex = { token: '' };
  const removed: string[] = [];
  beforeAll(async () => {
    app = await createResourceApp(ExpensesModule);
    [acme.token, globex.token] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
    const told = ({ record }: { record: { _id: string } }) => removed.push(record._id);
    app.app.get(EventEmitter2).on('expenses.afterDel', told);
  });
  afterAll(() => app.close());
  beforeEach(() => app.empty());

  async function expense(amount: number, paidAt: string, { token } = acme): Promise<string> {
    const { body } = await app.post('/expenses', { title: 'Train', amount, paidAt }, { token });
    return `/expenses/${body._id as string}`;
  }

  it('have a sum for each month, of the tenant and without archived ones', async () => {
    await expense(100, '2026-10-31T23:59:59.999Z');
    await expense(30, '2026-11-01T00:00:00.000Z');
    await expense(4, '2026-11-30T12:00:00.000Z');
    await expense(1_000, '2026-11-30T12:00:00.000Z', globex);
    await app.del(await expense(500, '2026-11-02T00:00:00.000Z'), acme);
    const november = { month: '2026-11', amount: 34, expenses: 2 };
    const october = { month: '2026-10', amount: 100, expenses: 1 };
    expect((await app.get('/expenses/sums', acme)).body).toEqual([october, november]);
    expect((await app.get('/expenses/sums?from=2026-11', acme)).body).toEqual([november]);
    expect((await app.get('/expenses/sums?until=2026-10', acme)).body).toEqual([october]);
    const { status, body } = await app.get('/expenses/sums?from=november', acme);
    expect([status, body.errors]).toMatchObject([400, [{ parameter: 'from' }]]);
    expect((await app.get('/expenses/sums')).status).toBe(401);
  });

  it('move to another month with their payment', async () => {
    const path = await expense(100, '2026-10-31T00:00:00.000Z');
    await app.patch(path, { paidAt: '2026-12-01T00:00:00.000Z' }, acme);
    expect((await app.get('/expenses/sums', acme)).body).toMatchObject([{ month: '2026-12' }]);
  });

  it('are removed for good once they are archived, with hooks and events', async () => {
    const [kept, archived, others] = [
      await expense(1, '2026-10-01T00:00:00.000Z'),
      await expense(2, '2026-10-01T00:00:00.000Z'),
      await expense(3, '2026-10-01T00:00:00.000Z', globex),
    ];
    await app.del(archived, acme);
    await app.del(others, globex);
    removed.length = 0;
    expect((await app.del('/expenses/archived', acme)).body).toEqual({ purged: 0 });
    expect((await app.del('/expenses/archived?days=0', acme)).body).toEqual({ purged: 1 });
    expect(removed.map((id) => `/expenses/${id}`)).toEqual([archived]);
    expect((await app.post(`${archived}/restore`, undefined, acme)).status).toBe(404);
    expect((await app.get(kept, acme)).status).toBe(200);
    expect((await app.post(`${others}/restore`, undefined, globex)).status).toBe(200);
  });
});
