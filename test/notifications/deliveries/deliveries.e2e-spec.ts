/** @mongodb */
import { Types } from 'mongoose';
import type {
  AttemptOutcome,
  NewDelivery,
} from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { deliveriesOf, newDelivery, onlyDelivery, useQueue } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import {
  expectInvalid,
  expectNoMethod,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { forgetAnswers } from '../../support/replays.js';
import { ACME, acme, globex } from '../../support/tenants.js';
import { expectReplayOf, subscriber, SUBSCRIPTIONS, useWebhookApp } from '../../support/webhooks.js';
import { ID, TIMESTAMP } from '../../support/whole-records.js';

const NOBODY = '0123456789abcdef01234567';
const EVENT_ID = expect.stringMatching(/^evt_[0-9a-f]{24}$/) as string;
const PENDING = { _id: ID, event: 'evt_1', type: 'posts.created', status: 'pending', attempts: [] };
const AT = new Date('2026-01-31T09:00:00.120Z');
const FAILED: AttemptOutcome = { at: AT, status: 503, error: 'The target answered with 503.' };
const DEAD: AttemptOutcome = { at: AT, error: 'The connection was refused.', final: true };
const DONE: AttemptOutcome = { at: AT, status: 204 };
const KEY = { 'Idempotency-Key': 'k1' };

describe('deliveries', () => {
  let subscription: string;
  let path: string;
  const app = useWebhookApp();
  const queue = useQueue(app);
  const { create: subscribe, act } = subscriber(app);
  beforeEach(async () => {
    subscription = await subscribe();
    path = `${SUBSCRIPTIONS}/${subscription}/deliveries`;
  });

  const read = (query = '', headers?: Record<string, string>) =>
    app.get(path + query, { token: acme, headers });
  const retry = (id: string, headers?: Record<string, string>) =>
    app.post(`${path}/${id}/retry`, undefined, { token: acme, headers });

  const ids = (of = subscription) => ({
    subscription: new Types.ObjectId(of),
    tenant: new Types.ObjectId(ACME),
  });
  /** Queues an event, has it attempted as by a worker if an outcome is given, and gives the identifier of its delivery. */
  async function add(event: string, outcome?: AttemptOutcome, others: Partial<NewDelivery> = {}) {
    const added = newDelivery({ ...ids(), event, ...others });
    await queue.add([added]);
    const id = String((await deliveriesOf(app).findOne(added))?._id);
    if (outcome) await attempt(id, outcome);
    return id;
  }
  async function claim(id: string) {
    const [claimed] = await queue.claim([{ ...ids(), _id: new Types.ObjectId(id) }]);
    if (!claimed) throw new Error(`${id} is not due`);
    return claimed;
  }
  const attempt = async (id: string, outcome: AttemptOutcome) => queue.finish(await claim(id), outcome);

  describe('GET /subscriptions/:id/deliveries', () => {
    it('lists them newest first, each with its attempts and no internals of the queue', async () => {
      await add('evt_1');
      for (const [i, outcome] of [FAILED, DONE, DEAD].entries()) await add(`evt_${i + 2}`, outcome);
      const at = AT.toISOString();
      const attempts = [FAILED, DONE, DEAD].map(({ final: _, ...attempt }) => [{ ...attempt, at }]);
      expect((await read()).body).toEqual([
        { ...PENDING, event: 'evt_4', status: 'dead', attempts: attempts[2] },
        { ...PENDING, event: 'evt_3', status: 'delivered', attempts: attempts[1] },
        { ...PENDING, event: 'evt_2', attempts: attempts[0], nextAttemptAt: TIMESTAMP },
        { ...PENDING, nextAttemptAt: TIMESTAMP },
      ]);
    });

    it('filters, counts, pages and streams them, but not by what is internal or no state', async () => {
      await add('evt_1', DONE);
      await add('evt_2', undefined, { type: 'posts.archived' });
      await add('evt_3', undefined, { type: 'webhook.test' });
      for (const [query, expected] of [
        ['status=delivered', ['evt_1']],
        ['status[in]=pending,dead', ['evt_3', 'evt_2']],
        ['type=posts.archived', ['evt_2']],
        ['event=evt_3', ['evt_3']],
      ] as const) {
        const { body } = await read(`?${query}&fields=event`);
        expect([query, body]).toEqual([query, expected.map((event) => ({ _id: ID, event }))]);
      }
      expect((await read('/count?status=pending')).body).toEqual({ count: 2 });
      const { body: page } = await read('?limit=2&fields=event');
      const results = ['evt_3', 'evt_2'].map((event) => ({ _id: ID, event }));
      expect(page).toEqual({ results, count: 3, next: expect.any(String), prev: null });
      const { body: last } = await read(`?limit=2&fields=event&after=${page.next}`);
      expect(last).toMatchObject({ results: [{ event: 'evt_1' }], next: null });
      expect((await read('', { Accept: 'application/x-ndjson' })).body).toHaveLength(3);
      for (const field of ['tenant', 'subscription', 'tries', 'lease', 'dueAt'])
        for (const query of [`?${field}=x`, `?fields=${field}`, `?sort=${field}`])
          expect([query, (await read(query)).status]).toEqual([query, 400]);
      const detail = '"status" must be one of pending, delivered, dead.';
      expectInvalid(await read('?status=done'), path, { parameter: 'status', detail });
    });

    it('shows one, whose ETag changes with each attempt', async () => {
      const id = await add('evt_1');
      const { body, headers } = await read(`/${id}`);
      expect(body).toEqual({ ...PENDING, _id: id, nextAttemptAt: TIMESTAMP });
      const known = { 'If-None-Match': headers.get('etag') ?? '' };
      expect((await read(`/${id}`, known)).status).toBe(304);
      await attempt(id, FAILED);
      expect((await read(`/${id}`, known)).body.attempts).toHaveLength(1);
    });

    it('cannot be created, changed or deleted by clients', async () => {
      const one = `${path}/${await add('evt_1')}`;
      for (const [method, url, allowed] of [
        ['POST', path, 'GET, HEAD, QUERY'],
        ['PATCH', one, 'GET, HEAD'],
        ['DELETE', one, 'GET, HEAD'],
      ] as const)
        expectNoMethod(await app.request(method, url, { token: acme, body: {} }), method, url, allowed);
    });
  });

  describe('POST /subscriptions/:id/deliveries/:deliveryId/retry', () => {
    it.each([
      ['is dead', { ...FAILED, final: true }],
      ['waits for its next attempt', FAILED],
    ])('makes a delivery due that %s', async (_how, outcome) => {
      const id = await add('evt_1', outcome);
      const { status, body } = await retry(id);
      expect([status, body]).toEqual([202, { queued: true }]);
      const { body: record } = await read(`/${id}`);
      expect(record).toMatchObject({ status: 'pending', attempts: [{ status: 503 }] });
      expect(Date.parse(record.nextAttemptAt as string)).toBeLessThanOrEqual(Date.now());
      expect((await claim(id)).tries).toBe(0);
    });

    it('is a 409 for one that is delivered or being attempted', async () => {
      const [done, busy] = [await add('evt_1', DONE), await add('evt_2')];
      await claim(busy);
      for (const [id, detail] of [
        [done, 'The delivery has succeeded. Send a test event to try the target.'],
        [busy, 'The delivery is being attempted right now. Look at it again when the attempt is over.'],
      ] as const) {
        const conflict = { status: 409, code: 'CONFLICT', title: 'Conflict', detail };
        expectProblem(await retry(id), { ...conflict, instance: `${path}/${id}/retry` });
      }
    });

    it('is carried out once for a key on each path', async () => {
      const [id, other] = [await add('evt_1', DEAD), await add('evt_2', DONE)];
      expect((await retry(id, KEY)).status).toBe(202);
      expect((await retry(other, KEY)).status).toBe(409);
      await attempt(id, DONE);
      expectReplayOf(await retry(id, KEY), 202, { queued: true });
      expect((await read(`/${id}`)).body.status).toBe('delivered');
    });
  });

  describe('POST /subscriptions/:id/test', () => {
    const TEST = { ...PENDING, event: EVENT_ID, type: 'webhook.test', nextAttemptAt: TIMESTAMP };

    it('queues a test event for this subscription only, and answers with its delivery', async () => {
      await subscribe();
      const { status, body } = await act(subscription, 'test');
      expect([status, body]).toEqual([202, TEST]);
      expect((await read()).body).toEqual([body]);
      expect(await deliveriesOf(app).countDocuments()).toBe(1);
      const event = await app.database.collection('events').findOne({ _id: body.event });
      expect(event).toMatchObject({ type: 'webhook.test', tenant: 'none' });
      expect(JSON.parse(event?.body as string)).toEqual({
        type: 'webhook.test',
        timestamp: TIMESTAMP,
        data: { message: 'This is a test of your webhook.' },
      });
    });

    it('is sent once per key, even if an attempt died before its answer', async () => {
      const { body } = await act(subscription, 'test', KEY);
      expectReplayOf(await act(subscription, 'test', KEY), 202, body as object);
      await forgetAnswers(app);
      await deliveriesOf(app).deleteMany({});
      const again = { ...(body as object), _id: ID, nextAttemptAt: TIMESTAMP };
      expect((await act(subscription, 'test', KEY)).body).toEqual(again);
      expect(await app.database.collection('events').countDocuments()).toBe(1);
      expect((await read()).body).toHaveLength(1);
    });
  });

  it('belong to a subscription of one tenant: another one finds none, by any route', async () => {
    const id = await add('evt_1', DEAD);
    const other = await subscribe();
    const foreign = await subscriber(app, globex).create();
    const at = (of: string) => `${SUBSCRIPTIONS}/${of}/deliveries`;
    for (const [token, method, url, label] of [
      [globex, 'GET', path, 'Subscription'],
      [globex, 'GET', `${path}?limit=5`, 'Subscription'],
      [globex, 'GET', `${path}/count`, 'Subscription'],
      [globex, 'GET', `${path}/${id}`, 'Subscription'],
      [globex, 'POST', `${path}/${id}/retry`, 'Subscription'],
      [globex, 'POST', `${at(foreign)}/${id}/retry`, 'Delivery'],
      [acme, 'GET', `${at(other)}/${id}`, 'Delivery'],
      [acme, 'POST', `${at(other)}/${id}/retry`, 'Delivery'],
      [acme, 'POST', `${path}/${NOBODY}/retry`, 'Delivery'],
      [acme, 'POST', `${at(NOBODY)}/${id}/retry`, 'Subscription'],
    ] as const) {
      const [instance = url] = url.split('?');
      expectNotFound(await app.request(method, url, { token }), instance, label);
      expectUnauthenticated(await app.request(method, url), instance);
    }
    expect((await app.get(at(foreign), { token: globex })).body).toEqual([]);
    expect((await read(`/${id}`)).body.status).toBe('dead');
  });

  it('are removed with their subscription, and those of others stay', async () => {
    await add('evt_1');
    await add('evt_2');
    const kept = await add('evt_1', undefined, ids(await subscribe()));
    const deleted = await app.del(`${SUBSCRIPTIONS}/${subscription}`, { token: acme });
    expect(deleted.body).toEqual({ deleted: true });
    expectNotFound(await read(), path, 'Subscription');
    await eventually(async () =>
      expect(await onlyDelivery(app)).toMatchObject({ _id: new Types.ObjectId(kept) }),
    );
  });
});
