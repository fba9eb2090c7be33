/** @mongodb */
import { Types } from 'mongoose';
import { storeSubscriptions } from '../../support/deliveries.js';
import { expectProblem } from '../../support/problems.js';
import { ACME, acme, globex } from '../../support/tenants.js';
import { forgetAnswers, HOOK, subscriber, SUBSCRIPTIONS, useTwoWebhookApps } from '../../support/webhooks.js';
import { KEPT } from '../../support/whole-records.js';

const MAX = 100;

describe('the subscriptions of a tenant, in two processes', () => {
  const apps = useTwoWebhookApps();
  const [app] = apps;
  const [one, other] = [subscriber(apps[0]), subscriber(apps[1])];

  const createAtOnce = async (count: number) => {
    const creates = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? one : other).post(HOOK));
    const statuses = (await Promise.all(creates)).map(({ status }) => status);
    const number = (expected: number) => statuses.filter((status) => status === expected).length;
    return { created: number(201), rejected: number(409) };
  };
  const count = async () => (await app.get(`${SUBSCRIPTIONS}/count`, { token: acme })).body.count as number;
  const storeOld = (length: number) =>
    storeSubscriptions(app, ...Array.from({ length }, () => ({ tenant: new Types.ObjectId(ACME) })));

  it('are at most 100, however many are created at once', async () => {
    expect(await createAtOnce(MAX - 10)).toEqual({ created: MAX - 10, rejected: 0 });
    expect(await createAtOnce(50)).toEqual({ created: 10, rejected: 40 });
    expect(await count()).toBe(MAX);
    expectProblem(await one.post(HOOK), {
      status: 409,
      code: 'TOO_MANY_SUBSCRIPTIONS',
      instance: SUBSCRIPTIONS,
      detail: 'Your tenant has 100 subscriptions, which is the maximum. Delete one that is no longer needed.',
    });
    expect((await subscriber(app, globex).post(HOOK)).status).toBe(201);
  });

  it('make room when they are deleted', async () => {
    await createAtOnce(MAX);
    const { body } = await app.get(`${SUBSCRIPTIONS}?limit=3`, { token: acme });
    for (const { _id } of body.results as { _id: string }[])
      await apps[1].del(`${SUBSCRIPTIONS}/${_id}`, { token: acme });
    expect(await createAtOnce(10)).toEqual({ created: 3, rejected: 7 });
  });

  it('count where an older version stored them, and stay if they are more', async () => {
    await storeOld(MAX - 5);
    expect(await createAtOnce(50)).toEqual({ created: 5, rejected: 45 });
    await storeOld(30);
    expect(await createAtOnce(2)).toEqual({ created: 0, rejected: 2 });
    expect(await count()).toBe(MAX + 30);
  });

  it('are created once by a key, also when they are the last', async () => {
    await createAtOnce(MAX - 1);
    const key = { 'Idempotency-Key': 'last' };
    const { status, body } = await one.post(HOOK, key);
    expect(status).toBe(201);
    await forgetAnswers(app);
    const again = await other.post(HOOK, key);
    expect([again.status, again.body._id]).toEqual([201, body._id]);
    expect(await count()).toBe(MAX);
  });

  it('are there for each process, and a replay by another one does not show the secret', async () => {
    const key = { 'Idempotency-Key': 'p1' };
    const { _id } = (await one.post(HOOK, key)).body as { _id: string };
    expect((await other.post(HOOK, key)).body).toEqual({ _id });
    expect((await other.get(_id)).body).toEqual({ ...KEPT, ...HOOK, enabled: true });
  });
});
