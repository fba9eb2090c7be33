/** @mongodb */
import { EventEmitter2 } from '@nestjs/event-emitter';
import mongoose from 'mongoose';
import { Database } from '../../../src/common/database/index.js';
import {
  EventLog,
  type EventRecord,
  type NewEvent,
} from '../../../src/common/notifications/log/event-log.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { buildService, ServiceProcess } from '../../support/service-process.js';
import { ACME, GLOBEX, TEST_SECRET, tokenOf } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Longer than the sweep waits. */
const SWEPT_WITHIN_MS = 20_000;

let number = 0;
const eventOf = (tenant = ACME, at = new Date()): NewEvent => {
  number++;
  return {
    _id: `evt_${number.toString(16).padStart(24, '0')}`,
    tenant,
    type: 'posts.created',
    at,
    body: `{"number":${number}}`,
  };
};
const some = (length: number, tenant?: string) => Array.from({ length }, () => eventOf(tenant));

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

  it('gives events positions without gaps, in the order in which they are appended', async () => {
    expect(await log.head()).toBe(0);
    const events = some(3);
    const appended = await Promise.all([log.append(events.slice(0, 2)), log.append(events.slice(2))]);
    expect(appended.flat().map(({ _id, seq }) => [_id, seq])).toEqual(
      events.map(({ _id }, i) => [_id, i + 1]),
    );
    expect(await stored()).toEqual(events.map((event, i) => ({ ...event, seq: i + 1 })));
    expect(await log.head()).toBe(3);
  });

  it('leaves no gaps, and fills no position after a later one, while several processes append', async () => {
    const logs = Array.from({ length: 4 }, another);
    const seen: number[] = [];
    let done = false;
    const reading = (async () => {
      while (!done) for (const { seq } of await log.read(seen.at(-1) ?? 0, { limit: 50 })) seen.push(seq);
    })();
    const events = await Promise.all(
      logs.flatMap((one) => Array.from({ length: 25 }, () => one.append(some(1 + (number % 4))))),
    );
    const count = events.flat().length;
    await eventually(() => expect(seen).toHaveLength(count), SWEPT_WITHIN_MS);
    done = true;
    await reading;
    expect(seen).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect((await stored()).map(({ seq }) => seq)).toEqual(seen);
    // Each caller is told the place that its event has.
    const places = new Map((await stored()).map(({ _id, seq }) => [_id, seq]));
    expect(events.flat().every(({ _id, seq }) => places.get(_id) === seq)).toBe(true);
  });

  it('keeps the first of events with one identifier, whoever appends them', async () => {
    const [one, two, three] = some(3) as [NewEvent, NewEvent, NewEvent];
    await log.append([one]);
    const again = { ...one, body: '{"other":true}' };
    expect((await another().append([two, again, three])).map(({ seq, body }) => [seq, body])).toEqual([
      [2, two.body],
      [1, one.body],
      [3, three.body],
    ]);
    const both = await Promise.all([log, another(), another()].map((each) => each.append([eventOf(), two])));
    expect(both.map(([, { seq } = { seq: 0 }]) => seq)).toEqual([2, 2, 2]);
    expect((await stored()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('can be read by tenant, and finds only events of that tenant', async () => {
    const [mine] = await log.append([eventOf(ACME), eventOf(GLOBEX)]);
    await log.append([eventOf(ACME)]);
    const places = async (options: { tenants?: string[]; limit: number }, after = 0) =>
      (await log.read(after, options)).map(({ seq }) => seq);
    expect(await places({ tenants: [ACME], limit: 10 })).toEqual([1, 3]);
    expect(await places({ tenants: [ACME, GLOBEX], limit: 2 })).toEqual([1, 2]);
    expect(await places({ limit: 10 }, 1)).toEqual([2, 3]);
    expect(await log.find(ACME, mine?._id ?? '')).toEqual(mine);
    expect(await log.find(GLOBEX, mine?._id ?? '')).toBeUndefined();
  });

  it('tells listeners of this process that events were appended', async () => {
    let told = 0;
    log.onAppend(() => told++);
    await log.append(some(1));
    expect(told).toBe(1);
  });

  it('forgets events older than a given time, but never the last one', async () => {
    const long = new Date(Date.now() - 40 * DAY_MS);
    await log.append([eventOf(ACME, long), eventOf(ACME, long)]);
    await log.removeBefore(new Date(Date.now() - 31 * DAY_MS));
    expect((await stored()).map(({ seq }) => seq)).toEqual([2]);
    await log.append([eventOf(), eventOf(ACME, long), eventOf()]);
    await log.removeBefore(new Date(Date.now() - 31 * DAY_MS));
    expect((await stored()).map(({ seq }) => seq)).toEqual([3, 4, 5]);
  });
});

describe('an event whose listener failed', () => {
  it('is recorded by the sweep, and settled', async () => {
    const app = await createTestApp();
    try {
      // As if the process had been killed before any listener ran.
      app.app.get(EventEmitter2).removeAllListeners();
      const token = await tokenOf(ACME);
      const { body: created } = await app.post('/posts/api', { title: 'Left behind' }, { token });
      await app.patch(`/posts/api/${created._id}`, { title: 'Changed' }, { token });
      await app.del(`/posts/api/${created._id}`, { token });
      await app.post(`/posts/api/${created._id}/restore`, {}, { token });
      const events = app.database.collection<EventRecord>('events');
      await eventually(async () => expect(await events.countDocuments()).toBe(4), SWEPT_WITHIN_MS);
      const recorded = await events.find().sort({ seq: 1 }).toArray();
      expect(recorded.map(({ type, tenant }) => [type, tenant])).toEqual([
        ['posts.created', ACME],
        ['posts.updated', ACME],
        ['posts.archived', ACME],
        ['posts.restored', ACME],
      ]);
      const posts = app.database.collection('posts');
      await eventually(async () => expect(await posts.findOne({})).not.toHaveProperty('_outbox'));
    } finally {
      await app.close();
    }
  });
});

describe('the deliveries of an event', () => {
  it('exist once for each enabled subscription of the tenant that names its type, even if the log already has it', async () => {
    const app = await createTestApp({ env: { WORKER: 'off' } });
    try {
      const subscriptions = app.database.collection('subscriptions');
      const subscribe = async (change: object) => {
        const subscription = {
          tenant: new mongoose.Types.ObjectId(ACME),
          enabled: true,
          events: ['posts.created'],
        };
        return String((await subscriptions.insertOne({ ...subscription, ...change })).insertedId);
      };
      const told = await subscribe({});
      await subscribe({ enabled: false });
      await subscribe({ events: ['posts.updated'] });
      await subscribe({ tenant: new mongoose.Types.ObjectId(GLOBEX) });
      const deliveries = () =>
        app.database
          .collection('deliveries')
          .find()
          .map(({ subscription, event, type }) => [String(subscription), event as string, type as string])
          .toArray();
      const token = await tokenOf(ACME);
      const { body: first } = await app.post('/posts/api', { title: 'Told' }, { token });
      const expected = [[told, `evt_${first._id}`, 'posts.created']];
      await eventually(async () => expect(await deliveries()).toEqual(expected));

      // As if the process had been killed between the log and the queue.
      app.app.get(EventEmitter2).removeAllListeners();
      const { body: second } = await app.post('/posts/api', { title: 'Left behind' }, { token });
      const _id = `evt_${second._id}`;
      await app.app.get(EventLog, { strict: false }).append([{ ...eventOf(), _id }]);
      await eventually(
        async () => expect(await deliveries()).toEqual([...expected, [told, _id, 'posts.created']]),
        SWEPT_WITHIN_MS,
      );
    } finally {
      await app.close();
    }
  });
});

describe('a process that is killed', () => {
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  const env = { NODE_ENV: 'test', PORT: '0', JWT_SECRET: TEST_SECRET, MONGODB_URI: uri };

  beforeAll(() => buildService(), 120_000);
  afterAll(async () => {
    await client.db().dropDatabase();
    await client.close();
  });

  it('loses no event of an acknowledged post, and invents none', async () => {
    const killed = ServiceProcess.spawn(env);
    const url = await killed.url();
    const headers = { Authorization: `Bearer ${await tokenOf(ACME)}`, 'Content-Type': 'application/json' };
    const acknowledged: string[] = [];
    let alive = true;
    const write = async () => {
      while (alive) {
        const body = JSON.stringify({ title: 'Tea' });
        const answer = await fetch(`${url}/posts/api`, { method: 'POST', headers, body }).catch(
          () => undefined,
        );
        const json = (await answer?.json().catch(() => undefined)) as { _id: string } | undefined;
        if (answer?.status === 201 && json) acknowledged.push(`evt_${json._id}`);
      }
    };
    const writers = Array.from({ length: 8 }, write);
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(100), SWEPT_WITHIN_MS);
    killed.signal('SIGKILL');
    await killed.ended();
    alive = false;
    await Promise.all(writers);

    const next = ServiceProcess.spawn(env);
    await next.url();
    const [posts, events] = [client.db().collection('posts'), client.db().collection<EventRecord>('events')];
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
