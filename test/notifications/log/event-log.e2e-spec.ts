/** @mongodb */
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Types } from 'mongoose';
import { Database } from '../../../src/common/database/index.js';
import {
  EventLog,
  type EventRecord,
  type NewEvent,
} from '../../../src/common/notifications/log/event-log.js';
import { eventId, storedDeliveries, storeSubscriptions } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase } from '../../support/mongodb.js';
import { useServices } from '../../support/service-process.js';
import { ACME, acme as token, GLOBEX } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Longer than the sweep waits. */
const SWEPT_WITHIN_MS = 20_000;

const eventOf = (tenant = ACME, at = new Date()): NewEvent => {
  const _id = eventId();
  return { _id, tenant, type: 'posts.created', at, body: `{"event":"${_id}"}` };
};
const some = (length: number) => Array.from({ length }, () => eventOf());

describe('the log of events', () => {
  let log: EventLog;
  const app = useTestApp();
  beforeEach(async () => {
    await app.empty();
    log = another();
  });

  /** A log as another process has it. */
  function another(): EventLog {
    const model = app.connection.model('EventRecord');
    return new EventLog(model as never, app.app.get(Database, { strict: false }));
  }
  const stored = () => app.database.collection<EventRecord>('events').find().sort({ seq: 1 }).toArray();
  const places = async () => (await stored()).map(({ seq }) => seq);

  it('leaves no gaps, and fills no position after a later one, while several processes append', async () => {
    const logs = Array.from({ length: 3 }, another);
    const seen: number[] = [];
    let done = false;
    const reading = (async () => {
      while (!done)
        for (const { seq } of await log.read(ACME, { after: seen.at(-1) ?? 0, limit: 10 })) seen.push(seq);
    })();
    const append = async (one: EventLog) => {
      const appended: EventRecord[] = [];
      for (let i = 0; i < 12; i++) appended.push(...(await one.append(some(1 + (i % 4)))));
      return appended;
    };
    const appended = await Promise.all(logs.map(append));
    const events = appended.flat();
    await eventually(() => expect(seen).toHaveLength(events.length), SWEPT_WITHIN_MS);
    done = true;
    await reading;
    expect(seen).toEqual(events.map((_, i) => i + 1));
    expect(await places()).toEqual(seen);
    // Each caller is told the place that its event has.
    const placeOf = new Map((await stored()).map(({ _id, seq }) => [_id, seq]));
    expect(events.filter(({ _id, seq }) => placeOf.get(_id) !== seq)).toEqual([]);
  });

  it('keeps the first of events with one identifier, whoever appends them', async () => {
    const [one, two, three] = [eventOf(), eventOf(), eventOf()];
    await log.append([one]);
    const again = { ...one, body: '{"other":true}' };
    const expected = [two, one, three].map(({ body }, i) => ({ seq: [2, 1, 3][i], body }));
    expect(await another().append([two, again, three])).toMatchObject(expected);
    const both = await Promise.all([log, another(), another()].map((each) => each.append([eventOf(), two])));
    expect(both.map(([, { seq } = { seq: 0 }]) => seq)).toEqual([2, 2, 2]);
    expect(await places()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('forgets events older than a given time, but never the last one', async () => {
    const long = new Date(Date.now() - 40 * DAY_MS);
    const trim = () => log.removeBefore(new Date(Date.now() - 31 * DAY_MS));
    await log.append([eventOf(ACME, long), eventOf(ACME, long)]);
    await trim();
    expect(await places()).toEqual([2]);
    await log.append([eventOf(), eventOf(ACME, long), eventOf()]);
    await trim();
    expect(await places()).toEqual([3, 4, 5]);
  });
});

it('events whose listener failed are recorded by the sweep and settled; each enabled subscription of the tenant gets those of its types once', async () => {
  await using app = await createTestApp({ env: { WORKER: 'off' } });
  const tenant = new Types.ObjectId(ACME);
  const others = [{ enabled: false }, { events: ['posts.deleted'] }, { tenant: new Types.ObjectId(GLOBEX) }];
  const members = [{}, ...others].map((one) => ({ tenant, ...one }));
  const [told] = await storeSubscriptions(app, ...members);
  const create = (title: string) => app.create('/posts/api', { title }, token);
  const expectDeliveries = (...posts: string[]) =>
    eventually(async () => {
      const expected = posts.map((id) => ({
        subscription: told?._id,
        event: `evt_${id}`,
        type: 'posts.created',
      }));
      expect(await storedDeliveries(app)).toMatchObject(expected);
    }, SWEPT_WITHIN_MS);
  const first = await create('Told');
  await expectDeliveries(first);

  // As if the process had been killed before any listener ran, or, for one event, between the log and the queue.
  app.app.get(EventEmitter2).removeAllListeners();
  const second = await create('Left behind');
  await app.app.get(EventLog, { strict: false }).append([{ ...eventOf(), _id: `evt_${second}` }]);
  const third = await create('Left behind, too');
  await app.patch(`/posts/api/${third}`, { title: 'Changed' }, { token });
  await app.del(`/posts/api/${third}`, { token });
  await app.post(`/posts/api/${third}/restore`, {}, { token });
  await expectDeliveries(first, second, third);
  const [posts, events] = [app.database.collection('posts'), app.database.collection<EventRecord>('events')];
  await eventually(async () => expect(await posts.countDocuments({ _outbox: { $exists: true } })).toBe(0));
  const recorded = await events.find({ body: { $regex: third } }, { sort: { seq: 1 } }).toArray();
  const verbs = ['created', 'updated', 'archived', 'restored'];
  expect(recorded).toMatchObject(verbs.map((verb) => ({ type: `posts.${verb}`, tenant: ACME })));
});

describe('a process that is killed', () => {
  const { uri, database } = useDatabase();
  const services = useServices();

  it('loses no event of an acknowledged post, and invents none', async () => {
    const start = () => services.start({ NODE_ENV: 'test', MONGODB_URI: uri });
    const { service: killed, url } = await start();
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify({ title: 'Tea' }) };
    const acknowledged: string[] = [];
    let alive = true;
    const write = async () => {
      while (alive) {
        const answer = await fetch(`${url}/posts/api`, request).catch(() => undefined);
        const json = (await answer?.json().catch(() => undefined)) as { _id: string } | undefined;
        if (answer?.status === 201 && json) acknowledged.push(`evt_${json._id}`);
      }
    };
    const writers = Array.from({ length: 8 }, write);
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(40), SWEPT_WITHIN_MS);
    killed.signal('SIGKILL');
    await killed.ended();
    alive = false;
    await Promise.all(writers);

    const { service: next } = await start();
    const [posts, events] = [database.collection('posts'), database.collection<EventRecord>('events')];
    const made = async () => (await posts.find().toArray()).map(({ _id }) => `evt_${String(_id)}`).sort();
    await eventually(async () => {
      expect(await posts.countDocuments({ _outbox: { $exists: true } })).toBe(0);
      expect((await events.find().toArray()).map(({ _id }) => _id).sort()).toEqual(await made());
    }, SWEPT_WITHIN_MS);
    expect(await made()).toEqual(expect.arrayContaining(acknowledged));
    const places = (await events.find().sort({ seq: 1 }).toArray()).map(({ seq }) => seq);
    expect(places).toEqual(places.map((_, i) => i + 1));
    next.signal('SIGTERM');
    expect((await next.ended()).code).toBe(0);
  }, 120_000);
});
