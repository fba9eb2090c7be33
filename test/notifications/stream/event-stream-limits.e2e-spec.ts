import { readFileSync } from 'node:fs';
import { mock } from 'node:test';
import { EventLog } from '../../../src/common/notifications/log/event-log.js';
import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { eventRecord } from '../../support/logged-events.js';
import { passTime, releaseClock, stopClock } from '../../support/own-clock.js';
import { expectProblem } from '../../support/problems.js';
import { appendIn, createStreamApp } from '../../support/stream-app.js';
import type { TestApp } from '../../support/test-app.js';
import { ACME, acme, globex, inSeconds, tokenOf } from '../../support/tenants.js';

const LONG = 'x'.repeat(300_000);

const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function streamApp(...options: Parameters<typeof createStreamApp>): Promise<TestApp> {
  const app = await createStreamApp(...options);
  opened.push(app);
  return app;
}

async function open(url: string, token = acme, lastEventId?: string): Promise<EventClient> {
  const client = await EventClient.open(url, { token, lastEventId });
  opened.push(client);
  return client;
}

/** Holds up the pages that are read for clients from now on, until they are let go. */
function holdPages(app: TestApp) {
  const log = app.app.get(EventLog, { strict: false });
  const read = log.read.bind(log);
  let [isHeld, letGo] = [() => {}, () => {}];
  const held = new Promise<void>((resolve) => (isHeld = resolve));
  const free = new Promise<void>((resolve) => (letGo = resolve));
  log.read = async (after, options) => {
    const events = await read(after, options);
    // The feed, which reads for all, asks for more at a time.
    if (options.limit < 100) {
      isHeld();
      await free;
    }
    return events;
  };
  return { held, letGo };
}

it('heartbeats are comments that every client receives', async () => {
  const app = await streamApp({ heartbeatMs: 50 });
  const clients = [await open(app.url), await open(app.url, globex)];
  await eventually(() => {
    for (const { comments } of clients)
      expect(comments.slice(0, 4)).toEqual(['connected', 'heartbeat', 'heartbeat', 'heartbeat']);
  });
  for (const { events, text } of clients) {
    expect(events).toEqual([]);
    expect(text).toMatch(/^: connected\nid: \w+\n\n(: heartbeat\n\n)+$/);
  }
});

it('heartbeats are sent every 15 seconds', async () => {
  const app = await streamApp();
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const client = await open(app.url);
    const told = async (seq: number) => {
      const { _id } = await appendIn(app, eventRecord(ACME, seq));
      await eventually(() => expect(client.ids.at(-1)).toBe(_id));
      return client.comments.slice(1);
    };
    mock.timers.tick(14_999);
    expect(await told(1)).toEqual([]);
    mock.timers.tick(1);
    expect(await told(2)).toEqual(['heartbeat']);
    mock.timers.tick(14_999);
    expect(await told(3)).toEqual(['heartbeat']);
    mock.timers.tick(1);
    expect(await told(4)).toEqual(['heartbeat', 'heartbeat']);
  } finally {
    mock.timers.reset();
  }
});

describe('a client that does not keep up', () => {
  it('is cut off when too much waits for it, and resumes', async () => {
    const app = await streamApp();
    const slow = await open(app.url);
    const quick = await open(app.url);
    await eventually(() => expect(slow.lastEventId).not.toBe(''));
    slow.response.pause();
    const ids: string[] = [];
    for (let seq = 1; seq <= 60; seq++) {
      ids.push((await appendIn(app, eventRecord(ACME, seq, LONG)))._id);
      await eventually(() => expect(quick.ids).toHaveLength(seq));
    }
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()));
    slow.response.resume();
    await eventually(() => expect(slow.end).toBe('broken'));
    expect(slow.ids.length).toBeLessThan(ids.length);
    const resumed = await open(app.url, acme, slow.lastEventId);
    await eventually(() => expect([...slow.ids, ...resumed.ids]).toEqual(ids));
    expect(quick.end).toBeUndefined();
  });

  it('is cut off when it reads nothing for a long time', async () => {
    // Little enough not to be cut off for its amount, more than the network holds.
    const app = await streamApp({ heartbeatMs: 50, maxStallMs: 300, maxWaitingBytes: Infinity });
    const slow = await open(app.url);
    await eventually(() => expect(slow.lastEventId).not.toBe(''));
    slow.response.pause();
    for (let seq = 1; seq <= 60; seq++) await appendIn(app, eventRecord(ACME, seq, LONG));
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()));
  });

  it('keeps up with a burst that is larger than what may wait for it', async () => {
    const app = await streamApp();
    const client = await open(app.url);
    await eventually(() => expect(client.lastEventId).not.toBe(''));
    const events = Array.from({ length: 20 }, (_, i) => eventRecord(ACME, i + 1, LONG));
    await app.database.collection('events').insertMany(events as never[]);
    await eventually(() => expect(client.ids).toEqual(events.map(({ _id }) => _id)));
    expect(client.end).toBeUndefined();
  });

  it('misses nothing of a burst that arrives while the log is being read for it', async () => {
    const app = await streamApp();
    const quick = await open(app.url);
    await eventually(() => expect(quick.lastEventId).not.toBe(''));
    const { held, letGo } = holdPages(app);
    const late = await open(app.url, acme, quick.lastEventId);
    await held;
    const ids: string[] = [];
    for (let seq = 1; seq <= 4; seq++) {
      ids.push((await appendIn(app, eventRecord(ACME, seq, LONG)))._id);
      await eventually(() => expect(quick.ids).toEqual(ids));
    }
    letGo();
    await eventually(() => expect(late.ids).toEqual(ids));
  });

  it('is sent no more than it reads when it resumes from far behind', async () => {
    const app = await streamApp({ heartbeatMs: 50, maxStallMs: 300 });
    const first = await open(app.url);
    await eventually(() => expect(first.lastEventId).not.toBe(''));
    const start = first.lastEventId;
    const ids: string[] = [];
    for (let seq = 1; seq <= 60; seq++) ids.push((await appendIn(app, eventRecord(ACME, seq, LONG)))._id);
    const slow = await open(app.url, acme, start);
    slow.response.pause();
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()));
    slow.response.resume();
    await eventually(() => expect(slow.end).toBe('broken'));
    expect(ids.slice(0, slow.ids.length)).toEqual(slow.ids);
    expect(slow.ids.length).toBeLessThan(ids.length);
  });

  const goneAway = () => expect.objectContaining({ msg: 'client went away', path: '/events' });
});

describe('the number of streams', () => {
  it('of one tenant is limited, and leaves room for the others', async () => {
    const app = await streamApp({ maxPerTenant: 2 });
    const [first] = [await open(app.url), await open(app.url)];
    const refused = await app.get('/events', { token: acme });
    const detail = 'Your tenant has 2 streams open. Close one, or try again later.';
    expectProblem(refused, { status: 429, code: 'TOO_MANY_STREAMS', detail, instance: '/events' });
    expect(refused.headers.get('retry-after')).toBe('10');
    expect((await open(app.url, globex)).status).toBe(200);
    first?.close();
    await eventually(async () => expect((await open(app.url)).status).toBe(200));
  });

  it('is limited per process, not counting refused ones', async () => {
    const app = await streamApp({ maxInAll: 2 });
    const [first] = [await open(app.url), await open(app.url, globex)];
    for (let i = 0; i < 5; i++) {
      const refused = await app.get('/events', { token: acme });
      const detail = 'This process has as much to do as it can. Try again later.';
      expectProblem(refused, { status: 503, code: 'OVERLOADED', detail, instance: '/events' });
      expect(refused.headers.get('retry-after')).toBe('5');
    }
    first?.close();
    await eventually(async () => expect((await open(app.url)).status).toBe(200));
  });

  it('does not count requests that were answered with an error', async () => {
    const app = await streamApp({ maxInAll: 1 });
    const headers = { 'Last-Event-ID': 'evt_665f1c2ab7e3a90d4c8b4567' };
    for (let i = 0; i < 3; i++)
      await eventually(async () =>
        expect((await app.get('/events', { token: acme, headers })).status).toBe(400),
      );
    await eventually(async () => expect((await open(app.url)).status).toBe(200));
  });
});

it('streams whose tokens expire one after another each end in time', async () => {
  const app = await streamApp();
  stopClock('Date', 'setTimeout');
  try {
    const clients = await Promise.all(
      [2, 2, 3, 900].map(async (later) => open(app.url, await tokenOf(ACME, { exp: inSeconds(later) }))),
    );
    const ends = () => clients.map(({ end }) => end);
    passTime(2_000);
    await eventually(() => expect(ends()).toEqual(['ended', 'ended', undefined, undefined]));
    passTime(1_000);
    await eventually(() => expect(ends()).toEqual(['ended', 'ended', 'ended', undefined]));
    const event = await appendIn(app, eventRecord(ACME, 1));
    await eventually(() => expect(clients.at(-1)?.ids).toEqual([event._id]));
  } finally {
    releaseClock();
  }
});

it('the client of docs/events.md follows, and resumes', async () => {
  const app = await streamApp();
  const source = /```js\n(async function follow[\s\S]*?)```/.exec(
    readFileSync('docs/events.md', 'utf8'),
  )?.[1];
  const answered: Response[] = [];
  const watched: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    answered.push(response);
    return response;
  };
  const follow = new Function('fetch', `return ${source}`)(watched) as (
    url: string,
    token: () => string | Promise<string>,
    onEvent: (type: string, body: { data: { title: string } }) => void,
  ) => Promise<void>;
  const told: [string, string][] = [];
  let stopped = false;
  // It runs until there is no token for it any more.
  void follow(
    `${app.url}/events`,
    () => (stopped ? new Promise<string>(() => undefined) : acme),
    (type, { data }) => {
      told.push([type, data.title]);
    },
  );
  const titles = ['one', 'two\nlines: \u2028 id: x', 'three', 'four'];
  for (const [i, title] of titles.entries()) {
    await eventually(() => expect(told).toHaveLength(i));
    // What happens before the first answer is not for this client.
    if (i === 0) await eventually(() => expect(answered).toHaveLength(1));
    if (i === 2) app.app.getHttpServer().closeAllConnections();
    await appendIn(app, eventRecord(ACME, i + 1, title));
  }
  await eventually(() => expect(told).toEqual(titles.map((title) => ['posts.created', title])));
  stopped = true;
});
