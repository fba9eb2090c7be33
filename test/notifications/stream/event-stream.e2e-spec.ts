/** @mongodb */
import type { StreamAsked } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { passTime, releaseClock, stopClock } from '../../support/own-clock.js';
import {
  expectInvalid,
  expectInvalidToken,
  expectNoMethod,
  expectNoTenant,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { RawConnection, sendRaw } from '../../support/raw-http.js';
import { appendIn, eventRecord, LoggedEvents, useStreams } from '../../support/stream-app.js';
import { useTestApp } from '../../support/test-app.js';
import { ACME, acme, GLOBEX, globex, inSeconds, tokenOf } from '../../support/tenants.js';

const NOWHERE = 'evt_665f1c2ab7e3a90d4c8b4567';
const UNKNOWN = {
  status: 400,
  code: 'UNKNOWN_EVENT',
  detail:
    'Your tenant has no event with this Last-Event-ID. Leave the header out, and list what you may have missed.',
  instance: '/events',
} as const;

const app = useTestApp();
const streams = useStreams();
let log: LoggedEvents;
beforeEach(async () => {
  await app.empty();
  log = new LoggedEvents(app.database);
});
const open = (asked?: StreamAsked) => streams.open(app, asked);

describe('GET /events', () => {
  it('is a stream of server-sent events that is neither cached nor buffered, whatever the client would accept; HEAD has the same headers', async () => {
    const expected = {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[\w-]+$/) as string,
    };
    const { status, headers } = await open({ headers: { Accept: 'application/json' } });
    expect([status, headers]).toMatchObject([200, expected]);
    const sent = { Authorization: `Bearer ${acme}` };
    const head = await sendRaw(app.url, { method: 'HEAD', path: '/events', headers: sent });
    expect([head.status, head.text, Object.fromEntries(head.headers)]).toMatchObject([200, '', expected]);
    const unknown = { ...sent, 'Last-Event-ID': NOWHERE };
    expect((await app.request('HEAD', '/events', { headers: unknown })).status).toBe(400);
  });

  it('includes the appends of its own process', async () => {
    // No other wake-up would come in time.
    const own = await streams.start({ pollMs: 60_000 });
    const client = await streams.open(own);
    const event = await appendIn(own, eventRecord(ACME, 1));
    await eventually(() => expect(client.ids).toEqual([event._id]));
  });

  it.each([undefined, ''])(
    'begins with a comment and the newest event of the tenant, to resume from, with the Last-Event-ID %j',
    async (lastEventId) => {
      const [, newest] = await log.append(ACME, ACME, GLOBEX);
      const client = await open({ lastEventId });
      expect(client.text).toBe(`: connected\nid: ${newest?._id}\n\n`);
      expect([client.lastEventId, client.events]).toEqual([newest?._id, []]);
    },
  );

  it('also begins with an identifier to resume from for a tenant without events', async () => {
    await log.append(GLOBEX);
    const before = await open();
    before.close();
    expect(before.text).toMatch(/^: connected\nid: evt_[0-9a-f]{24}\n\n$/);
    await log.append(ACME, GLOBEX, ACME);
    const after = await open({ lastEventId: before.lastEventId });
    await eventually(() => expect(after.ids).toEqual(log.idsOf(ACME)));
    const headers = { 'Last-Event-ID': before.lastEventId };
    expectProblem(await app.get('/events', { token: globex, headers }), UNKNOWN);
  });

  it('cannot be broken by the content of a title', async () => {
    const titles = [
      'two\nlines',
      'data: forged\n\nevent: posts.created\ndata: {}\n\n',
      '\r\n\r\nid: evt_0\r\n',
      'U+2028 \u2028, U+2029 \u2029, NEL \u0085, VT \v, FF \f, NUL \0, BOM \ufeff',
      'a lone surrogate \ud800 here',
      '"quotes" \\n </script>',
    ];
    const client = await open();
    const events = titles.map((title, i) => eventRecord(ACME, i + 1, title));
    for (const event of events) await appendIn(app, event);
    await eventually(() => expect(client.events).toHaveLength(titles.length));
    expect(client.events.map(({ data }) => data)).toEqual(events.map(({ body }) => body));
    expect(client.events.map(({ data }) => JSON.parse(data).data.title)).toEqual(titles);
    expect(client.ids).toEqual(events.map(({ _id }) => _id));
  });

  it('speaks HTTP/1.0: without chunks, to the end of the connection', async () => {
    const connection = new RawConnection(app.url);
    connection.write(`GET /events HTTP/1.0\r\nAuthorization: Bearer ${acme}\r\n\r\n`);
    await connection.receives(/\n\n/);
    const [event] = await log.append(ACME);
    await connection.receives(event?._id ?? '');
    const [head = '', content] = connection.received.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head).toMatch(/^connection: close$/im);
    expect(head).not.toMatch(/^transfer-encoding:/im);
    const frame = `id: ${event?._id}\nevent: posts.created\ndata: ${event?.body}\n\n`;
    expect(content?.replace(/^: connected\nid: evt_\w{24}\n\n/, '')).toBe(frame);
    connection.close();
  });

  it('requires a token with a tenant that has not expired, even if a single request would still accept it, and has no other method or parameter', async () => {
    expectNoMethod(await app.post('/events', {}, { token: acme }), 'POST', '/events', 'GET, HEAD');
    expectUnauthenticated(await app.get('/events'), '/events');
    for (const token of ['a.b.c', tokenOf(ACME, { exp: inSeconds(-10) })])
      expectInvalidToken(await app.get('/events', { token }), '/events');
    expectNoTenant('tenant')(await app.get('/events', { token: tokenOf('7') }), '/events');
    expectInvalid(await app.get('/events?lastEventId=1', { token: acme }), '/events', {
      parameter: 'lastEventId',
      detail: '"lastEventId" is not a parameter here. Allowed: types.',
    });
  });
});

describe('types', () => {
  const KNOWN = 'posts.created, posts.updated, posts.archived, posts.restored, posts.*';
  /** Appends events of some types in turns. */
  async function append(from: number, ...types: string[]) {
    const events = types.map((type, i) => ({ ...eventRecord(ACME, from + i), type }));
    for (const event of events) await appendIn(app, event);
    return events.map(({ _id }) => _id);
  }

  it('narrows the stream, which resumes from any event, inside the filter or not', async () => {
    const ids = await append(1, 'posts.created', 'posts.updated', 'posts.created', 'posts.archived');
    for (const [types, after, expected] of [
      ['posts.created', 0, ['posts.created']],
      ['posts.archived', 1, ['posts.archived']],
      ['posts.updated,posts.archived', 0, ['posts.updated', 'posts.archived']],
      ['posts.*', 1, ['posts.created', 'posts.archived']],
    ] as const) {
      const client = await open({ query: `?types=${types}`, lastEventId: ids[after] });
      await eventually(() => expect(client.events.map(({ type }) => type)).toEqual(expected));
    }
    const live = await open({ query: '?types=posts.restored' });
    const all = await open();
    const next = ['posts.updated', 'posts.restored', 'posts.restored'];
    await append(10, ...next);
    await eventually(() => expect(all.events.map(({ type }) => type)).toEqual(next));
    expect(live.events.map(({ type }) => type)).toEqual(next.slice(1));
  });

  it.each(['', 'posts.read', 'posts.created,', '*', 'todos.created', 'posts.created,posts.read'])(
    'must be known: %p',
    async (types) => {
      const detail = `"types" must be some of ${KNOWN}, separated by commas.`;
      const answer = await app.get(`/events?types=${types}`, { token: acme });
      expectInvalid(answer, '/events', { parameter: 'types', detail });
    },
  );
});

describe('Last-Event-ID', () => {
  it('resumes after any event, without a gap or a repeat', async () => {
    await log.append(...Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? GLOBEX : ACME)));
    const ids = log.idsOf(ACME);
    for (const place of [0, 9, 10, 19, ids.length - 2, ids.length - 1]) {
      const client = await open({ lastEventId: ids[place] });
      expect(client.text).toContain(`: connected\nid: ${ids[place]}\n\n`);
      await log.append(ACME);
      await eventually(() => expect(client.ids).toEqual(log.idsOf(ACME).slice(place + 1)));
    }
  });

  it('of another tenant is refused like one that does not exist', async () => {
    const [foreign] = await log.append(GLOBEX, ACME);
    const texts = new Set<string>();
    const unknown = ['evt_', '7', 'evt_000000000000000000000000', '$ne', 'évé', 'x'.repeat(5_000)];
    for (const id of [foreign?._id ?? '', NOWHERE, ...unknown, `${NOWHERE}, ${NOWHERE}`]) {
      const headers = { 'Last-Event-ID': id, 'X-Request-Id': 'same' };
      const response = await app.get('/events', { token: acme, headers });
      expectProblem(response, UNKNOWN);
      texts.add(response.text);
    }
    expect(texts.size).toBe(1);
  });
});

it('the end of a stream comes when its token expires, for each of several in time', async () => {
  stopClock('Date', 'setTimeout');
  try {
    const expires = inSeconds(3);
    const clients = await Promise.all(
      [0, 0, 1, 900].map((later) => open({ token: tokenOf(ACME, { exp: expires + later }) })),
    );
    const ends = () => clients.map(({ end }) => end);
    const expectTold = async (seq: number, client = clients[0]) => {
      const { _id } = await appendIn(app, eventRecord(ACME, seq));
      await eventually(() => expect(client?.ids.at(-1)).toBe(_id));
    };
    passTime(expires * 1_000 - 1 - Date.now());
    await expectTold(1);
    expect(ends()).toEqual([undefined, undefined, undefined, undefined]);
    passTime(1);
    await eventually(() => expect(ends()).toEqual(['ended', 'ended', undefined, undefined]));
    expect(clients[0]?.comments.at(-1)).toBe('token expired');
    passTime(1_000);
    await eventually(() => expect(ends()).toEqual(['ended', 'ended', 'ended', undefined]));
    await expectTold(2, clients[3]);
  } finally {
    releaseClock();
  }
});

it('a stream ends when its database is replaced with an older one, and its client begins anew', async () => {
  await log.append(...Array.from({ length: 10 }, () => ACME));
  const client = await open();
  await app.database.collection('events').deleteMany({});
  await eventually(() =>
    expect([client.end, client.comments.at(-1)]).toEqual(['ended', 'the log of events was replaced']),
  );
  expect((await open({ lastEventId: client.lastEventId })).status).toBe(400);
  const again = await open();
  const [event] = await new LoggedEvents(app.database).append(ACME);
  await eventually(() => expect(again.ids).toEqual([event?._id]));
});
