/** @mongodb */
import { setImmediate } from 'node:timers/promises';
import mongoose from 'mongoose';
import { EntityEventPublisher } from '../../../src/common/events/index.js';
import type { EventRecord } from '../../../src/common/notifications/log/event-log.js';
import { EventRecorder, MAX_WAITING } from '../../../src/common/notifications/log/event-recorder.js';
import { eventually } from '../../support/eventually.js';
import { onEvent } from '../../support/on-event.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

/** Longer than the sweep waits. */
const SWEPT_WITHIN_MS = 20_000;

/** Holds up the recording of events in an application until it is let go. */
function holdRecording(app: TestApp) {
  const recorder = app.app.get(EventRecorder, { strict: false });
  const record = recorder.record.bind(recorder);
  let calls = 0;
  let letGo = () => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  recorder.record = async (outbox, events) => {
    calls++;
    await held;
    return record(outbox, events);
  };
  return { calls: () => calls, letGo };
}

describe('the recording of events', () => {
  let app: TestApp;
  let token: string;

  beforeEach(async () => {
    app = await createTestApp({ env: { WORKER: 'off' } });
    token = await tokenOf(ACME);
  });

  const events = () => app.database.collection<EventRecord>('events');
  const create = async () => {
    const { status } = await app.post('/posts/api', { title: 'Waits' }, { token });
    expect(status).toBe(201);
  };

  it('delays no request, and holds a limited number of events in memory, of one tenant half of it; the sweep records the others', async () => {
    const held = holdRecording(app);
    const ofOne = MAX_WAITING / 2;
    const posts = ofOne + 50;
    for (let sent = 0; sent < posts; sent += 50) await Promise.all(Array.from({ length: 50 }, create));
    // No hook waits, either.
    const publisher = app.app.get(EntityEventPublisher, { strict: false });
    await publisher.drain();
    // The sweep holds one batch.
    await eventually(() => expect(held.calls()).toBe(ofOne + 1));
    expect(await events().countDocuments()).toBe(0);
    await app.post('/posts/api', { title: 'Of another tenant' }, { token: await tokenOf(GLOBEX) });
    await publisher.drain();
    expect(held.calls()).toBe(ofOne + 2);
    held.letGo();
    await eventually(async () => expect(await events().countDocuments()).toBe(posts + 1), SWEPT_WITHIN_MS);
    await app.close();
  });

  it.each(['before', 'after'])(
    'of a create with a key is once, by the identifier of its record, if the process died %s it',
    async (moment) => {
      const subscriber = {
        tenant: new mongoose.Types.ObjectId(ACME),
        enabled: true,
        events: ['posts.created'],
      };
      await app.database.collection('subscriptions').insertOne(subscriber);
      const told = onEvent(app, 'posts.afterCreate');
      const held = holdRecording(app);
      const send = () =>
        app.post('/posts/api', { title: 'Once' }, { token, headers: { 'Idempotency-Key': 'k1' } });
      const { body } = await send();
      if (moment === 'after') {
        held.letGo();
        await eventually(async () => expect(await events().countDocuments()).toBe(1));
      }
      // As if the process had been killed before it could keep its answer.
      const forgotten = { $unset: { answer: 1 as const }, $set: { leaseUntil: new Date() } };
      await app.database.collection('idempotency_keys').updateMany({}, forgotten);
      expect((await send()).body).toEqual(body);
      held.letGo();
      const deliveries = app.database.collection('deliveries');
      await eventually(async () => expect(await deliveries.countDocuments()).toBe(1));
      await app.app.close();
      const id = `evt_${body._id}`;
      expect(told.map((event) => event.id)).toEqual([id, id]);
      expect((await events().find().toArray()).map(({ _id }) => _id)).toEqual([id]);
      expect((await deliveries.find().toArray()).map(({ event }) => event as string)).toEqual([id]);
      await app.close();
    },
  );

  it('notifies each tenant of its own events only, even if those of several are recorded together', async () => {
    const tenants = [ACME, GLOBEX];
    const subscribers = tenants.map((tenant) => ({
      tenant: new mongoose.Types.ObjectId(tenant),
      enabled: true,
      events: ['posts.created'],
    }));
    await app.database.collection('subscriptions').insertMany(subscribers);
    const held = holdRecording(app);
    for (const tenant of [ACME, GLOBEX, ACME, GLOBEX]) {
      await app.post('/posts/api', { title: 'Told' }, { token: await tokenOf(tenant) });
    }
    held.letGo();
    const deliveries = app.database.collection('deliveries');
    await eventually(async () => expect(await deliveries.countDocuments()).toBe(4));
    await app.app.close();
    const tenantOf = new Map((await events().find().toArray()).map((event) => [event._id, event.tenant]));
    expect([...tenantOf.values()].sort()).toEqual([ACME, ACME, GLOBEX, GLOBEX]);
    for (const { event, tenant } of await deliveries.find().toArray())
      expect(String(tenant)).toBe(tenantOf.get(event as string));
    await app.close();
  });

  it('is finished before the process exits', async () => {
    const held = holdRecording(app);
    await create();
    const finish = jest.spyOn(app.app.get(EventRecorder, { strict: false }), 'beforeApplicationShutdown');
    const closing = app.app.close();
    await eventually(() => expect(finish).toHaveBeenCalled());
    const isFinished = jest.fn();
    void finish.mock.results[0]?.value.then(isFinished);
    await setImmediate();
    expect(isFinished).not.toHaveBeenCalled();
    held.letGo();
    await closing;
    expect(await events().countDocuments()).toBe(1);
    expect(await app.database.collection('posts').findOne({})).not.toHaveProperty('_outbox');
    await app.close();
  });
});
