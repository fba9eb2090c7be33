/** @mongodb */
import { Types } from 'mongoose';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { expectProblem } from '../../support/problems.js';
import { ACME, acme, GLOBEX, tokenOf } from '../../support/tenants.js';
import type { TestApp, TestResponse } from '../../support/test-app.js';
import { createWebhookApp, HOOK, SUBSCRIPTIONS as PATH } from '../../support/webhooks.js';

const MAX = 100;

describe('the subscriptions of a tenant', () => {
  const env = { MONGODB_URI: freshDatabaseUri() };
  let apps: [TestApp, TestApp];
  beforeAll(async () => {
    // As in two processes.
    apps = [await createWebhookApp(undefined, env), await createWebhookApp(undefined, env)];
  });
  afterAll(async () => {
    await apps[1].leave();
    await apps[0].close();
  });
  beforeEach(() => apps[0].empty());

  const createAtOnce = (count: number): Promise<TestResponse[]> =>
    Promise.all(
      Array.from({ length: count }, (_, i) => apps[i % 2]?.post(PATH, HOOK, { token: acme }) as never),
    );
  const statuses = async (count: number) => {
    const answers = (await createAtOnce(count)).map(({ status }) => status);
    const number = (status: number) => answers.filter((one) => one === status).length;
    return { created: number(201), rejected: number(409) };
  };
  const stored = async () => (await apps[0].get(`${PATH}/count`, { token: acme })).body.count as number;
  /** Stores subscriptions as an older version did. */
  const storeOld = (count: number) =>
    apps[0].database.collection('subscriptions').insertMany(
      Array.from({ length: count }, () => ({
        ...HOOK,
        tenant: new Types.ObjectId(ACME),
        enabled: true,
        secret: 'whsec_c2VjcmV0',
        createdAt: new Date(),
        updatedAt: new Date(),
      })),
    );

  it('are at most 100, however many are created at once', async () => {
    expect(await statuses(MAX - 10)).toEqual({ created: MAX - 10, rejected: 0 });
    expect(await statuses(50)).toEqual({ created: 10, rejected: 40 });
    expect(await stored()).toBe(MAX);
    expectProblem(await apps[0].post(PATH, HOOK, { token: acme }), {
      status: 409,
      code: 'TOO_MANY_SUBSCRIPTIONS',
      instance: PATH,
      detail: 'Your tenant has 100 subscriptions, which is the maximum. Delete one that is no longer needed.',
    });
    expect((await apps[0].post(PATH, HOOK, { token: await tokenOf(GLOBEX) })).status).toBe(201);
  });

  it('make room when they are deleted', async () => {
    await createAtOnce(MAX);
    const { body } = await apps[0].get(`${PATH}?limit=3`, { token: acme });
    for (const { _id } of body.results as { _id: string }[])
      await apps[1].del(`${PATH}/${_id}`, { token: acme });
    expect(await statuses(10)).toEqual({ created: 3, rejected: 7 });
  });

  it('count where an older version stored them, and stay if they are more', async () => {
    await storeOld(MAX - 5);
    expect(await statuses(50)).toEqual({ created: 5, rejected: 45 });
    await storeOld(30);
    expect(await statuses(2)).toEqual({ created: 0, rejected: 2 });
    expect(await stored()).toBe(MAX + 30);
  });

  it('are created once by a key, also when they are the last', async () => {
    await createAtOnce(MAX - 1);
    const headers = { 'Idempotency-Key': 'last' };
    const create = (app: TestApp) => app.post(PATH, HOOK, { token: acme, headers });
    const { status, body } = await create(apps[0]);
    expect(status).toBe(201);
    // As if the process had been killed before it could keep its answer.
    const forgotten = { $unset: { answer: 1 as const }, $set: { leaseUntil: new Date() } };
    await apps[0].database.collection('idempotency_keys').updateMany({}, forgotten);
    const again = await create(apps[1]);
    expect([again.status, again.body._id]).toEqual([201, body._id]);
    expect(await stored()).toBe(MAX);
  });
});
