/** @mongodb */
import { createResourceApp } from '../../test/support/resource-app.js';
import { ACME, tokenOf } from '../../test/support/tenants.js';
import type { TestApp } from '../../test/support/test-app.js';
import { PriceRulesModule } from './price-rules.module.js';

const weekend = { kind: 'weekday', name: 'Weekend', percent: 5, days: [6, 7] };

describe('price rules', () => {
  let app: TestApp;
  let token: string;
  let ids: string[];
  beforeAll(async () => {
    app = await createResourceApp(PriceRulesModule);
    token = await tokenOf(ACME);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.empty();
    ids = [];
    for (const name of ['a', 'b', 'c', 'd'])
      ids.push((await app.post('/price-rules', { ...weekend, name }, { token })).body._id as string);
  });

  /** A busy machine may give a new order up. */
  async function reorder(rules: readonly string[]): Promise<number> {
    const { status } = await app.request('PUT', '/price-rules/order', { body: { rules }, token });
    return status === 503 ? reorder(rules) : status;
  }
  async function names(): Promise<string> {
    const { body } = await app.get('/price-rules?sort=position', { token });
    return (body as { name: string; position: number }[])
      .map(({ name, position }) => `${name}${position}`)
      .join(' ');
  }

  it('get a new order as a whole', async () => {
    expect(await reorder([...ids].reverse())).toBe(200);
    expect(await names()).toBe('d0 c1 b2 a3');
  });

  it('keep their order if one of the rules is not there', async () => {
    await reorder(ids);
    expect(await reorder([ids[3] ?? '', ids[2] ?? '', '665f1c2ab7e3a90d4c8b4567'])).toBe(404);
    expect(await names()).toBe('a0 b1 c2 d3');
  });

  it('have one of the orders that many ask for at once', async () => {
    const orders = Array.from({ length: 50 }, (_, i) => [...ids.slice(i % 4), ...ids.slice(0, i % 4)]);
    expect(new Set(await Promise.all(orders.map(reorder)))).toEqual(new Set([200]));
    expect(['a0 b1 c2 d3', 'b0 c1 d2 a3', 'c0 d1 a2 b3', 'd0 a1 b2 c3']).toContain(await names());
  });
});
