/** @mongodb */
import { setImmediate } from 'node:timers/promises';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Types } from 'mongoose';
import { EntityEventPublisher } from '../../../src/common/events/index.js';
import type { EventRecord } from '../../../src/common/notifications/log/event-log.js';
import { EventRecorder, WAITING } from '../../../src/common/notifications/log/event-recorder.js';
import { deliveriesOf, storedDeliveries, storeSubscriptions } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { onEvent } from '../../support/on-event.js';
import { forgetAnswers } from '../../support/replays.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

/** Longer than the sweep waits. */
const SWEPT_WITHIN_MS = 20_000;

describe('the recording of events', () => {
  let app: TestApp;
  let letGo = () => {};
  beforeEach(async () => void (app = await createTestApp({ env: { WORKER: 'off' } })));
  afterEach(() => letGo());
  afterEach(() => app.close());

  /** Holds up the recording of events until it is let go. @returns the calls */
  function holdRecording() {
    const recorder = app.app.get(EventRecorder, { strict: false });
    const record = recorder.record.bind(recorder);
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const calls = jest.fn((...args: Parameters<typeof record>) => held.then(() => record(...args)));
    recorder.record = calls;
    return calls;
  }

  const events = () => app.database.collection<EventRecord>('events');
  const create = async (token = acme, headers = {}) => {
    const { status, body } = await app.post('/posts/api', { title: 'Waits' }, { token, headers });
    expect(status).toBe(201);
    return body as { _id: string };
  };
  const subscribe = (...tenants: string[]) =>
    storeSubscriptions(app, ...tenants.map((tenant) => ({ tenant: new Types.ObjectId(tenant) })));
  const expectDeliveries = (count: number) =>
    eventually(async () => expect(await deliveriesOf(app).countDocuments()).toBe(count));

  it('delays no request, and holds a limited number of events in memory, of a tenant half of it; the sweep records the others', async () => {
    const [calls, told] = [holdRecording(), onEvent(app, 'posts.afterCreate')];
    const publisher = app.app.get(EntityEventPublisher, { strict: false });
    const emitter = app.app.get(EventEmitter2);
    await create();
    await publisher.drain();
    // The event of one post, over and over, until there is room for a few others.
    const [first] = told;
    const ofOne = WAITING.maxPerClient;
    for (let waiting = 1; waiting < ofOne - 10; waiting++) emitter.emit('posts.afterCreate', first);
    const posts = 21;
    await Promise.all(Array.from({ length: posts - 1 }, () => create()));
    // No hook waits, either.
    await publisher.drain();
    // The sweep holds one batch.
    await eventually(() => expect(calls).toHaveBeenCalledTimes(ofOne + 1));
    await create(globex);
    await publisher.drain();
    expect(calls).toHaveBeenCalledTimes(ofOne + 2);
    expect(await events().countDocuments()).toBe(0);
    letGo();
    await eventually(async () => expect(await events().countDocuments()).toBe(posts + 1), SWEPT_WITHIN_MS);
    // Then there is room in memory again.
    await Promise.all(calls.mock.results.map(({ value }) => value as Promise<void>));
    const before = calls.mock.calls.length;
    // The sweep knows the owner.
    emitter.emit('posts.afterUpdate', { id: 'evt_1', action: 'update', record: {} });
    expect(calls).toHaveBeenCalledTimes(before);
    await create();
    await publisher.drain();
    expect(calls.mock.calls.length).toBeGreaterThan(before);
  });

  it.each(['before', 'after'])(
    'of a create with a key is once, by the identifier of its record, if the process died %s it',
    async (moment) => {
      await subscribe(ACME);
      const told = onEvent(app, 'posts.afterCreate');
      holdRecording();
      const send = () => create(acme, { 'Idempotency-Key': 'k1' });
      const body = await send();
      if (moment === 'after') {
        letGo();
        await eventually(async () => expect(await events().countDocuments()).toBe(1));
      }
      await forgetAnswers(app);
      expect(await send()).toEqual(body);
      letGo();
      await expectDeliveries(1);
      await app.app.close();
      const event = `evt_${body._id}`;
      expect(told.map(({ id }) => id)).toEqual([event, event]);
      expect(await events().find().toArray()).toMatchObject([{ _id: event }]);
      expect(await storedDeliveries(app)).toMatchObject([{ event }]);
    },
  );

  it('notifies each tenant of its own events only, even if those of several are recorded together', async () => {
    await subscribe(ACME, GLOBEX);
    holdRecording();
    for (const token of [acme, globex, acme, globex]) await create(token);
    letGo();
    await expectDeliveries(4);
    await app.app.close();
    const tenantOf = new Map((await events().find().toArray()).map((event) => [event._id, event.tenant]));
    expect([...tenantOf.values()].sort()).toEqual([ACME, ACME, GLOBEX, GLOBEX]);
    for (const { event, tenant } of await storedDeliveries(app))
      expect(String(tenant)).toBe(tenantOf.get(event));
  });

  it('is finished before the process exits', async () => {
    holdRecording();
    await create();
    const finish = jest.spyOn(app.app.get(EventRecorder, { strict: false }), 'beforeApplicationShutdown');
    const closing = app.app.close();
    await eventually(() => expect(finish).toHaveBeenCalled());
    const isFinished = jest.fn();
    void finish.mock.results[0]?.value.then(isFinished);
    await setImmediate();
    expect(isFinished).not.toHaveBeenCalled();
    letGo();
    await closing;
    expect(await events().countDocuments()).toBe(1);
    expect(await app.database.collection('posts').findOne({})).not.toHaveProperty('_outbox');
  });
});
