import { readFileSync } from 'node:fs';
import mongoose from 'mongoose';
import { EventClient } from './support/event-client.js';
import { eventually } from './support/eventually.js';
import { LoggedEvents, eventRecord } from './support/logged-events.js';
import { freshDatabaseUri } from './support/mongodb.js';
import { expectProblem } from './support/problems.js';
import { buildService, ServiceProcess } from './support/service-process.js';
import { appendIn, createStreamApp } from './support/stream-app.js';
import type { TestApp } from './support/test-app.js';
import { ACME, GLOBEX, TEST_SECRET, tokenOf } from './support/tenants.js';
import { inSeconds } from './support/tokens.js';

const LONG = 'x'.repeat(300_000);

let acme: string;
let globex: string;
const opened: { close(): unknown }[] = [];

beforeAll(async () => {
  [acme, globex] = await Promise.all([tokenOf(ACME), tokenOf(GLOBEX)]);
});
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

it('heartbeats are comments, which come to every client', async () => {
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
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()), 20_000);
    slow.response.resume();
    await eventually(() => expect(slow.end).toBe('broken'));
    expect(slow.ids.length).toBeLessThan(ids.length);
    const resumed = await open(app.url, acme, slow.lastEventId);
    await eventually(() => expect([...slow.ids, ...resumed.ids]).toEqual(ids), 15_000);
    expect(quick.end).toBeUndefined();
  });

  it('is cut off when it takes nothing for long', async () => {
    // Little enough not to be cut off for its amount, more than the network holds.
    const app = await streamApp({ heartbeatMs: 50, maxStallMs: 300, maxWaitingBytes: Infinity });
    const slow = await open(app.url);
    await eventually(() => expect(slow.lastEventId).not.toBe(''));
    slow.response.pause();
    for (let seq = 1; seq <= 60; seq++) await appendIn(app, eventRecord(ACME, seq, LONG));
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()), 20_000);
  });

  it('keeps up with a burst that is larger than what may wait for it', async () => {
    const app = await streamApp();
    const client = await open(app.url);
    await eventually(() => expect(client.lastEventId).not.toBe(''));
    const events = Array.from({ length: 20 }, (_, i) => eventRecord(ACME, i + 1, LONG));
    await app.database.collection('events').insertMany(events as never[]);
    await eventually(() => expect(client.ids).toEqual(events.map(({ _id }) => _id)), 15_000);
    expect(client.end).toBeUndefined();
  });

  it('that resumes far behind is sent no more than it takes', async () => {
    const app = await streamApp({ heartbeatMs: 50, maxStallMs: 300 });
    const first = await open(app.url);
    await eventually(() => expect(first.lastEventId).not.toBe(''));
    const start = first.lastEventId;
    const ids: string[] = [];
    for (let seq = 1; seq <= 60; seq++) ids.push((await appendIn(app, eventRecord(ACME, seq, LONG)))._id);
    const slow = await open(app.url, acme, start);
    slow.response.pause();
    await eventually(() => expect(app.logLines).toContainEqual(goneAway()), 20_000);
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

  it('of one process is limited, and those that were refused do not count', async () => {
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

  it('does not count what was answered with an error', async () => {
    const app = await streamApp({ maxInAll: 1 });
    const headers = { 'Last-Event-ID': 'evt_665f1c2ab7e3a90d4c8b4567' };
    for (let i = 0; i < 3; i++)
      await eventually(async () =>
        expect((await app.get('/events', { token: acme, headers })).status).toBe(400),
      );
    await eventually(async () => expect((await open(app.url)).status).toBe(200));
  });
});

it('streams of tokens that expire one after another end each at its time', async () => {
  const app = await streamApp();
  const clients = await Promise.all(
    [2, 2, 3, 900].map(async (later) => open(app.url, await tokenOf(ACME, { exp: inSeconds(later) }))),
  );
  await eventually(() =>
    expect(clients.map(({ end }) => end)).toEqual(['ended', 'ended', undefined, undefined]),
  );
  await eventually(() =>
    expect(clients.map(({ end }) => end)).toEqual(['ended', 'ended', 'ended', undefined]),
  );
  const event = await appendIn(app, eventRecord(ACME, 1));
  await eventually(() => expect(clients.at(-1)?.ids).toEqual([event._id]));
});

it('SIGTERM ends streams in order, also those of clients that do not read', async () => {
  buildService();
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  const service = ServiceProcess.spawn({ MONGODB_URI: uri, PORT: '0', JWT_SECRET: TEST_SECRET });
  try {
    const url = await service.url();
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(url)));
    const deaf = await open(url);
    deaf.response.pause();
    const log = new LoggedEvents(client.db());
    await log.append(ACME);
    await eventually(() => expect(clients.map(({ ids }) => ids)).toEqual(clients.map(() => log.idsOf(ACME))));
    const begun = performance.now();
    service.signal('SIGTERM');
    const { code } = await service.ended();
    expect(code).toBe(0);
    expect(performance.now() - begun).toBeLessThan(10_000);
    await eventually(() => {
      for (const { end, comments } of clients)
        expect([end, comments.at(-1)]).toEqual(['ended', 'shutting down']);
    });
  } finally {
    service.signal('SIGKILL');
    await client.db().dropDatabase();
    await client.close();
  }
});

it('the client of docs/events.md follows, and resumes', async () => {
  const app = await streamApp();
  const source = /```js\n(async function follow[\s\S]*?)```/.exec(
    readFileSync('docs/events.md', 'utf8'),
  )?.[1];
  const follow = new Function(`return ${source}`)() as (
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
    await eventually(() => expect(told).toHaveLength(i), 10_000);
    if (i === 0) await connected(app);
    if (i === 2) app.app.getHttpServer().closeAllConnections();
    await appendIn(app, eventRecord(ACME, i + 1, title));
  }
  await eventually(() => expect(told).toEqual(titles.map((title) => ['posts.created', title])), 10_000);
  stopped = true;
});

/** Resolves when some client has connected. */
async function connected(app: TestApp): Promise<void> {
  await eventually(
    () =>
      new Promise<void>((resolve, reject) =>
        app.app
          .getHttpServer()
          .getConnections((_error: unknown, count: number) =>
            count > 0 ? resolve() : reject(new Error('Nobody has connected')),
          ),
      ),
  );
}
