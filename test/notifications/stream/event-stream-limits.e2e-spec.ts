import { readFileSync } from 'node:fs';
import { mock } from 'node:test';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { EventLog } from '../../../src/common/notifications/log/event-log.js';
import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase } from '../../support/mongodb.js';
import { expectProblem } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { useServices } from '../../support/service-process.js';
import { appendIn, eventRecord, LoggedEvents, useStreams } from '../../support/stream-app.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';

const app = useResourceApp(NotificationsModule.forRoot({ worker: false }));
const streams = useStreams();
beforeEach(() => app.empty());

it('heartbeats are comments that every client receives, every 15 seconds', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const [client, silent] = [await streams.open(app), await streams.open(app, { token: globex })];
    for (const [i, expected] of [0, 1, 1, 2].entries()) {
      mock.timers.tick(i % 2 === 0 ? 14_999 : 1);
      const { _id } = await appendIn(app, eventRecord(ACME, i + 1));
      await eventually(() => expect(client.ids.at(-1)).toBe(_id));
      const comments = ['connected', ...Array<string>(expected).fill('heartbeat')];
      await eventually(() => expect([client.comments, silent.comments]).toEqual([comments, comments]));
    }
    expect(silent.text).toMatch(/^: connected\nid: \w+\n\n(: heartbeat\n\n){2}$/);
    expect(silent.events).toEqual([]);
  } finally {
    mock.timers.reset();
  }
});

describe('a client that does not keep up', () => {
  const LONG = 'x'.repeat(250_000);
  const stream = { heartbeatMs: 50, maxStallMs: 1_000 };
  const strict = useResourceApp(NotificationsModule.forRoot({ worker: false, stream }));
  beforeEach(async () => {
    await strict.empty();
    strict.logLines.length = 0;
  });
  const longEvents = (count: number) =>
    Array.from({ length: count }, (_, i) => eventRecord(ACME, i + 1, LONG));
  const has = (client: EventClient) => (ids: string[]) => eventually(() => expect(client.ids).toEqual(ids));
  const wentAway = expect.objectContaining({ msg: 'client went away', path: '/events' }) as object;
  const expectCutOff = () => eventually(() => expect(strict.logLines).toContainEqual(wentAway));
  /** Lets a client read what was on its way to it: the first of the events, and not all of them. */
  async function expectPartOf(slow: EventClient, ids: string[]) {
    slow.response.resume();
    await eventually(() => expect(slow.end).toBe('broken'));
    expect(slow.ids).toEqual(ids.slice(0, slow.ids.length));
    expect(slow.ids.length).toBeLessThan(ids.length);
  }

  it('is cut off when it reads nothing for a long time, and resumes', async () => {
    const [slow, quick] = [await streams.open(strict), await streams.open(strict)];
    slow.response.pause();
    const ids: string[] = [];
    for (const event of longEvents(40)) {
      ids.push((await appendIn(strict, event))._id);
      await eventually(() => expect(quick.ids).toHaveLength(ids.length));
    }
    await has(quick)(ids);
    await expectCutOff();
    await expectPartOf(slow, ids);
    const resumed = await streams.open(strict, { lastEventId: slow.lastEventId });
    await eventually(() => expect([...slow.ids, ...resumed.ids]).toEqual(ids));
    expect(quick.end).toBeUndefined();
  });

  it('keeps up with a burst', async () => {
    const client = await streams.open(app);
    const events = longEvents(20);
    await app.database.collection('events').insertMany(events as never[]);
    await has(client)(events.map(({ _id }) => _id));
    expect(client.end).toBeUndefined();
  });

  it.each([
    ['a burst that arrives', LONG],
    ['short events that arrive', 'short'],
  ])('misses nothing of %s while the log is being read for it', async (_what, title) => {
    const log = app.app.get(EventLog, { strict: false });
    const read = log.read.bind(log);
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      log.read = async (...asked) => {
        log.read = read;
        const events = await read(...asked);
        resolve();
        await new Promise<void>((go) => (letGo = go));
        return events;
      };
    });
    const late = await streams.open(app);
    await held;
    const ids: string[] = [];
    for (let seq = 1; seq <= 4; seq++) ids.push((await appendIn(app, eventRecord(ACME, seq, title)))._id);
    letGo();
    await has(late)(ids);
  });

  it('is sent no more than it reads when it resumes from far behind', async () => {
    const first = await streams.open(strict);
    first.close();
    await expectCutOff();
    strict.logLines.length = 0;
    const events = longEvents(90);
    const ids = events.map(({ _id }) => _id);
    await strict.database.collection('events').insertMany(events as never[]);
    const sent = await commandsOf(strict, async () => {
      const slow = await streams.open(strict, { lastEventId: first.lastEventId });
      slow.response.pause();
      await expectCutOff();
      await expectPartOf(slow, ids);
    });
    // The network holds some events; memory would have to hold the others.
    const reads = sent.filter(({ name, command }) => name === 'find events' && command.filter.seq);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.length).toBeLessThan(8);
  });
});

it('a tenant that begins to follow while the log is read for another one misses nothing', async () => {
  const log = new LoggedEvents(app.database);
  const [first, late] = [await streams.open(app), streams.open(app, { token: globex })];
  for (let i = 0; i < 20; i++) await log.append(ACME, GLOBEX);
  const second = await late;
  await log.append(GLOBEX, ACME);
  await eventually(() => expect(first.ids).toEqual(log.idsOf(ACME)));
  await eventually(() => expect(second.ids.at(-1)).toBe(log.idsOf(GLOBEX).at(-1)));
  expect(second.ids).toEqual(log.idsOf(GLOBEX).slice(-second.ids.length));
});

const [TENANT, PROCESS] = [
  'Your tenant has 2 streams open. Close one, or try again later.',
  'This process has as much to do as it can. Try again later.',
];

it('the number of streams of a tenant, and of a process, is limited, not counting those that are refused or have ended', async () => {
  const app = await streams.start({ maxPerTenant: 2, maxInAll: 3 });
  // An answer may arrive a moment before its place is free again.
  const open = (token = acme, lastEventId?: string, expected = 200) =>
    eventually(async () => {
      const stream = await streams.open(app, { token, lastEventId });
      expect(stream.status).toBe(expected);
      return stream;
    });
  const expectFull = async (token: string, problem: { status: number; code: string; detail: string }) => {
    for (let i = 0; i < 4; i++) {
      const refused = await app.get('/events', { token });
      expectProblem(refused, { ...problem, instance: '/events' });
      expect(refused.headers.get('retry-after')).toBe('5');
    }
  };
  for (let i = 0; i < 4; i++) await open(acme, 'evt_665f1c2ab7e3a90d4c8b4567', 400);
  const first = await open();
  await open();
  await expectFull(acme, { status: 429, code: 'TOO_MANY_STREAMS', detail: TENANT });
  await open(globex);
  await expectFull(globex, { status: 503, code: 'OVERLOADED', detail: PROCESS });
  first.close();
  await open();
});

it('the client of docs/events.md follows, and resumes', async () => {
  const [, source] =
    /```js\n(async function follow[\s\S]*?)```/.exec(readFileSync('docs/events.md', 'utf8')) ?? [];
  let answered = 0;
  const watched: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    answered++;
    return response;
  };
  const follow = new Function('fetch', `return ${source}`)(watched) as (
    url: string,
    token: () => string | Promise<string>,
    onEvent: (type: string, body: { data: { title: string } }) => unknown,
  ) => Promise<void>;
  const told: [string, string][] = [];
  let stopped = false;
  // It runs until there is no token for it any more.
  const token = () => (stopped ? new Promise<string>(() => undefined) : acme);
  void follow(`${app.url}/events`, token, (type, { data }) => told.push([type, data.title]));
  const titles = ['one', 'two\nlines: \u2028 id: x', 'three', 'four'];
  for (const [i, title] of titles.entries()) {
    await eventually(() => expect(told).toHaveLength(i));
    // What happens before the first answer is not for this client.
    if (i === 0) await eventually(() => expect(answered).toBe(1));
    if (i === 2) app.app.getHttpServer().closeAllConnections();
    await appendIn(app, eventRecord(ACME, i + 1, title));
  }
  await eventually(() => expect(told).toEqual(titles.map((title) => ['posts.created', title])));
  stopped = true;
});

describe('a process', () => {
  const services = useServices();
  const { uri, database } = useDatabase();

  it('ends streams properly on SIGTERM, even those of clients that do not read', async () => {
    const { service, url } = await services.start({ MONGODB_URI: uri });
    const open = () => EventClient.open(url, { token: acme });
    const clients = await Promise.all([open(), open(), open()]);
    const deaf = await open();
    deaf.response.pause();
    const log = new LoggedEvents(database);
    await log.append(ACME);
    await eventually(() => expect(clients.map(({ ids }) => ids)).toEqual(clients.map(() => log.idsOf(ACME))));
    service.signal('SIGTERM');
    expect((await service.ended()).code).toBe(0);
    await eventually(() => {
      for (const { end, comments } of clients)
        expect([end, comments.at(-1)]).toEqual(['ended', 'shutting down']);
    });
  });
});
