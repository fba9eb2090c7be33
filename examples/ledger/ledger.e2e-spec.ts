/** @mongodb */
import { createResourceApp } from '../../test/support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../test/support/tenants.js';
import type { TestApp } from '../../test/support/test-app.js';
import { LedgerModule } from './ledger.module.js';

describe('the ledger', () => {
  let app: TestApp;
  let token: string;
  beforeAll(async () => {
    app = await createResourceApp(LedgerModule);
    token = await tokenOf(ACME);
  });
  afterAll(() => app.close());
  beforeEach(() => app.empty());

  async function account(name: string, cents?: number): Promise<string> {
    const id = (await app.post('/accounts', { name }, { token })).body._id as string;
    if (cents !== undefined) await app.post(`/accounts/${id}/deposit`, { cents }, { token });
    return id;
  }
  const balanceOf = async (id: string) =>
    (await app.get(`/accounts/${id}`, { token })).body.balance as number;

  it('moves an amount from one account to the other', async () => {
    const [from, to] = [await account('One', 100), await account('Two')];
    expect((await app.post('/transfers', { from, to, amount: 30 }, { token })).status).toBe(201);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([70, 30]);
  });

  it('stores no transfer that an account cannot pay', async () => {
    const [from, to] = [await account('One', 10), await account('Two')];
    const answer = await app.post('/transfers', { from, to, amount: 30 }, { token });
    expect([answer.status, answer.body.detail]).toEqual([409, 'The account has 10 cents.']);
    expect((await app.get('/transfers/count', { token })).body).toEqual({ count: 0 });
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([10, 0]);
  });

  it('reaches no account of another tenant', async () => {
    const [from, to] = [await account('One', 10), await account('Two')];
    const answer = await app.post('/transfers', { from, to, amount: 1 }, { token: await tokenOf(GLOBEX) });
    expect(answer.status).toBe(400);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([10, 0]);
  });

  it('pays what is there and no more, however many transfers come at once', async () => {
    const [from, to] = [await account('One', 100), await account('Two')];
    const transfer = async (): Promise<number> => {
      const { status } = await app.post('/transfers', { from, to, amount: 3 }, { token });
      // A busy machine may give a transfer up, or carry it out later than it answers.
      return status === 503 ? transfer() : status;
    };
    const statuses = await Promise.all(Array.from({ length: 50 }, transfer));
    const paid = statuses.filter((status) => status === 201).length;
    expect(new Set(statuses)).toEqual(new Set([201, 409]));
    expect(paid).toBeLessThanOrEqual(33);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([1, 99]);
    expect((await app.get('/transfers/count', { token })).body).toEqual({ count: 33 });
  });
});
