/** @mongodb */
import { Types } from 'mongoose';
import {
  type AttemptOutcome,
  DeliveryQueue,
} from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { eventually } from '../../support/eventually.js';
import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { ACME, acme, globex } from '../../support/tenants.js';
import { type TestResponse, useApp } from '../../support/test-app.js';
import { createWebhookApp, HOOK, SUBSCRIPTIONS } from '../../support/webhooks.js';
import { ID } from '../../support/whole-records.js';

const NOBODY = '0123456789abcdef01234567';
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
const EVENT_ID = expect.stringMatching(/^evt_[0-9a-f]{24}$/) as string;
const AT = new Date('2026-01-31T09:00:00.120Z');
const FAILED: AttemptOutcome = { at: AT, status: 503, error: 'The target answered with 503.' };
const PENDING = { _id: ID, event: 'evt_1', type: 'posts.created', status: 'pending', attempts: [] };

describe('deliveries', () => {
  let queue: DeliveryQueue;
  let subscription: string;
  let path: string;
  const app = useApp(createWebhookApp);
  beforeAll(() => void (queue = app.app.get(DeliveryQueue, { strict: false })));
  beforeEach(async () => {
    await app.empty();
    subscription = await subscribe();
    path = `${SUBSCRIPTIONS}/${subscription}/deliveries`;
  });

  const subscribe = async (token = acme) =>
    (await app.post(SUBSCRIPTIONS, HOOK, { token })).body._id as string;
  const read = (query = '', headers?: Record<string, string>) =>
    app.get(path + query, { token: acme, headers });
  const retry = (id: string, headers?: Record<string, string>) =>
    app.post(`${path}/${id}/retry`, undefined, { token: acme, headers });
  const sendTest = (headers?: Record<string, string>) =>
    app.post(`${SUBSCRIPTIONS}/${subscription}/test`, undefined, { token: acme, headers });
  const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';

  /** Queues an event and gives the identifier of its delivery. */
  async function add(
    event: string,
    type = 'posts.created',
    to = subscription,
    tenant = ACME,
  ): Promise<string> {
    const ids = { subscription: new Types.ObjectId(to), tenant: new Types.ObjectId(tenant) };
    await queue.add([{ ...ids, event, type }]);
    const found = await app.database.collection('deliveries').findOne({ ...ids, event });
    return String(found?._id);
  }

  /** Claims a delivery as a worker does. */
  async function claim(id: string) {
    const ids = { subscription: new Types.ObjectId(subscription), tenant: new Types.ObjectId(ACME) };
    const [claimed] = await queue.claim([{ ...ids, _id: new Types.ObjectId(id) }]);
    if (!claimed) throw new Error(`${id} is not due`);
    return claimed;
  }

  const attempt = async (id: string, outcome: AttemptOutcome) => queue.finish(await claim(id), outcome);

  describe('GET /subscriptions/:id/deliveries', () => {
    it('lists them newest first, each with its attempts and no internals of the queue', async () => {
      const [waiting, tried, done, dead] = [
        await add('evt_1'),
        await add('evt_2'),
        await add('evt_3'),
        await add('evt_4'),
      ];
      await attempt(tried, FAILED);
      await attempt(done, { at: AT, status: 204 });
      await attempt(dead, { at: AT, error: 'The connection was refused.', final: true });
      const at = AT.toISOString();
      expect((await read()).body).toEqual([
        {
          ...PENDING,
          _id: dead,
          event: 'evt_4',
          status: 'dead',
          attempts: [{ at, error: 'The connection was refused.' }],
        },
        { ...PENDING, _id: done, event: 'evt_3', status: 'delivered', attempts: [{ at, status: 204 }] },
        {
          ...PENDING,
          _id: tried,
          event: 'evt_2',
          attempts: [{ at, status: 503, error: 'The target answered with 503.' }],
          nextAttemptAt: TIMESTAMP,
        },
        { ...PENDING, _id: waiting, nextAttemptAt: TIMESTAMP },
      ]);
    });

    it('filters, pages, counts and streams them', async () => {
      const first = await add('evt_1');
      await add('evt_2', 'posts.archived');
      await add('evt_3', 'webhook.test');
      await attempt(first, { at: AT, status: 200 });
      const events = async (query: string, headers?: Record<string, string>) =>
        ((await read(query, headers)).body as { event: string }[]).map(({ event }) => event);
      expect(await events('?status=delivered')).toEqual(['evt_1']);
      expect(await events('?status[in]=pending,dead')).toEqual(['evt_3', 'evt_2']);
      expect(await events('?type=posts.archived')).toEqual(['evt_2']);
      expect(await events('?event=evt_3')).toEqual(['evt_3']);
      expect(await events('', { Accept: 'application/x-ndjson' })).toEqual(['evt_3', 'evt_2', 'evt_1']);
      const { body: page } = await read('?limit=2&fields=event');
      expect(page).toMatchObject({ count: 3, prev: null, results: [{ event: 'evt_3' }, { event: 'evt_2' }] });
      const { body: next } = await read(`?limit=2&fields=event&after=${page.next}`);
      expect(next).toMatchObject({ results: [{ _id: first, event: 'evt_1' }], next: null });
      expect((await read('/count?status=pending')).body).toEqual({ count: 2 });
    });

    it.each(['tenant', 'subscription', 'tries', 'lease', 'dueAt'])(
      'does not filter or choose by %s',
      async (field) => {
        for (const query of [`?${field}=x`, `?fields=${field}`, `?sort=${field}`]) {
          expect((await read(query)).status).toBe(400);
        }
      },
    );

    it('shows one, whose ETag changes with each attempt', async () => {
      const id = await add('evt_1');
      const { body, headers } = await read(`/${id}`);
      expect(body).toEqual({ ...PENDING, nextAttemptAt: TIMESTAMP });
      const known = { 'If-None-Match': headers.get('etag') ?? '' };
      expect((await read(`/${id}`, known)).status).toBe(304);
      await attempt(id, FAILED);
      expect((await read(`/${id}`, known)).body.attempts).toHaveLength(1);
    });

    it('cannot be created, changed or deleted by clients', async () => {
      const id = await add('evt_1');
      for (const [method, url] of [
        ['POST', path],
        ['PATCH', `${path}/${id}`],
        ['DELETE', `${path}/${id}`],
      ] as const) {
        const response = await app.request(method, url, { token: acme, body: {} });
        const allow = url === path ? 'GET, HEAD, QUERY' : 'GET, HEAD';
        expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      }
    });
  });

  describe('POST /subscriptions/:id/deliveries/:deliveryId/retry', () => {
    it('makes a dead delivery due, and also one that waits for its next attempt', async () => {
      const [dead, waiting] = [await add('evt_1'), await add('evt_2')];
      await attempt(dead, { ...FAILED, final: true });
      await attempt(waiting, FAILED);
      for (const id of [dead, waiting]) {
        const { status, body } = await retry(id);
        expect([status, body]).toEqual([202, { queued: true }]);
        const { body: record } = await read(`/${id}`);
        expect(record).toMatchObject({ status: 'pending', attempts: [{ status: 503 }] });
        expect(Date.parse(record.nextAttemptAt as string)).toBeLessThanOrEqual(Date.now());
        expect((await claim(id)).tries).toBe(0);
      }
    });

    it('is a 409 for one that is delivered or being attempted', async () => {
      const [done, busy] = [await add('evt_1'), await add('evt_2')];
      await attempt(done, { at: AT, status: 200 });
      await claim(busy);
      const conflict = (id: string, detail: string) => ({
        status: 409,
        code: 'CONFLICT',
        title: 'Conflict',
        detail,
        instance: `${path}/${id}/retry`,
      });
      expectProblem(
        await retry(done),
        conflict(done, 'The delivery has succeeded. Send a test event to try the target.'),
      );
      expectProblem(
        await retry(busy),
        conflict(
          busy,
          'The delivery is being attempted right now. Look at it again when the attempt is over.',
        ),
      );
    });

    it('is carried out once for a key', async () => {
      const id = await add('evt_1');
      await attempt(id, { ...FAILED, final: true });
      const key = { 'Idempotency-Key': 'k1' };
      expect((await retry(id, key)).status).toBe(202);
      await attempt(id, { at: AT, status: 200 });
      const replay = await retry(id, key);
      expect([replay.status, isReplay(replay), replay.body]).toEqual([202, true, { queued: true }]);
      expect((await read(`/${id}`)).body.status).toBe('delivered');
    });

    it('is a 404 if the subscription has no such delivery', async () => {
      const other = await subscribe();
      const elsewhere = await add('evt_1', 'posts.created', other);
      for (const id of [NOBODY, elsewhere]) {
        expectNotFound(await retry(id), `${path}/${id}/retry`, 'Delivery');
        expectNotFound(await read(`/${id}`), `${path}/${id}`, 'Delivery');
      }
      const url = `${SUBSCRIPTIONS}/${NOBODY}/deliveries/${elsewhere}/retry`;
      expectNotFound(await app.post(url, undefined, { token: acme }), url, 'Subscription');
    });
  });

  describe('POST /subscriptions/:id/test', () => {
    it('queues a test event for this subscription only, and answers with its delivery', async () => {
      await subscribe();
      const { status, body } = await sendTest();
      expect([status, body]).toEqual([
        202,
        { ...PENDING, event: EVENT_ID, type: 'webhook.test', nextAttemptAt: TIMESTAMP },
      ]);
      expect((await read()).body).toEqual([body]);
      expect(await app.database.collection('deliveries').countDocuments()).toBe(1);
      const event = await app.database.collection('events').findOne({ _id: body.event });
      expect(event).toMatchObject({ type: 'webhook.test', tenant: 'none' });
      const { timestamp, ...told } = JSON.parse(event?.body as string) as Record<string, unknown>;
      expect(timestamp).toEqual(TIMESTAMP);
      expect(told).toEqual({ type: 'webhook.test', data: { message: 'This is a test of your webhook.' } });
    });

    it('is sent once per key, even if an attempt died before its answer', async () => {
      const key = { 'Idempotency-Key': 'k1' };
      const first = await sendTest(key);
      const replay = await sendTest(key);
      expect([isReplay(replay), replay.body]).toEqual([true, first.body]);
      const keys = app.database.collection('idempotency_keys');
      await keys.updateMany({}, { $unset: { answer: 1 }, $set: { leaseUntil: new Date() } });
      await app.database.collection('deliveries').deleteMany({});
      expect((await sendTest(key)).body).toEqual({
        ...(first.body as object),
        _id: ID,
        nextAttemptAt: TIMESTAMP,
      });
      expect(await app.database.collection('events').countDocuments()).toBe(1);
      expect((await read()).body).toHaveLength(1);
    });

    it('is a 404 if there is no such subscription', async () => {
      const url = `${SUBSCRIPTIONS}/${NOBODY}/test`;
      expectNotFound(await app.post(url, undefined, { token: acme }), url, 'Subscription');
    });
  });

  it('belong to one tenant: another one finds none, by any route', async () => {
    const id = await add('evt_1');
    await attempt(id, { ...FAILED, final: true });
    const own = await subscribe(globex);
    const paths = [path, `${path}?limit=5`, `${path}/count`, `${path}/${id}`];
    for (const url of paths) {
      const [instance = url] = url.split('?');
      expectNotFound(await app.get(url, { token: globex }), instance, 'Subscription');
      expectUnauthenticated(await app.get(url), instance);
    }
    for (const url of [`${path}/${id}/retry`, `${SUBSCRIPTIONS}/${own}/deliveries/${id}/retry`]) {
      const label = url.startsWith(path) ? 'Subscription' : 'Delivery';
      expectNotFound(await app.post(url, undefined, { token: globex }), url, label);
      expectUnauthenticated(await app.post(url, undefined), url);
    }
    expect((await app.get(`${SUBSCRIPTIONS}/${own}/deliveries`, { token: globex })).body).toEqual([]);
    expect((await read(`/${id}`)).body.status).toBe('dead');
  });

  it('are removed with their subscription, and those of others stay', async () => {
    const other = await subscribe();
    await add('evt_1');
    await add('evt_2');
    const kept = await add('evt_1', 'posts.created', other);
    const deleted = await app.del(`${SUBSCRIPTIONS}/${subscription}`, { token: acme });
    expect(deleted.body).toEqual({ deleted: true });
    expectNotFound(await read(), path, 'Subscription');
    await eventually(async () => {
      const left = await app.database.collection('deliveries').find().toArray();
      expect(left.map(({ _id }) => String(_id))).toEqual([kept]);
    });
  });

  it('have identifiers of 24 digits', async () => {
    for (const [url, parameter] of [
      [`${SUBSCRIPTIONS}/7/deliveries`, 'subscriptionId'],
      [`${path}/7`, 'id'],
    ] as const) {
      expectProblem(await app.get(url, { token: acme }), {
        status: 400,
        code: 'INVALID_ID',
        detail: 'The id must be 24 hexadecimal digits.',
        instance: url,
        errors: [{ parameter, detail: 'The id must be 24 hexadecimal digits.' }],
      });
    }
    expectInvalid(await read('?status=done'), path, {
      parameter: 'status',
      detail: '"status" must be one of pending, delivered, dead.',
    });
  });
});
