/** @mongodb */
import { connect } from 'node:net';
import { EventClient, type StreamAsked } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { LoggedEvents, eventRecord } from '../../support/logged-events.js';
import { passTime, releaseClock, stopClock } from '../../support/own-clock.js';
import {
  expectInvalid,
  expectInvalidToken,
  expectNoTenant,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { sendRaw } from '../../support/raw-http.js';
import { appendIn, createStreamApp } from '../../support/stream-app.js';
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
let log: LoggedEvents;
const clients: EventClient[] = [];

beforeEach(async () => {
  await app.empty();
  log = new LoggedEvents(app.database);
});
afterEach(() => clients.splice(0).forEach((client) => client.close()));

/** Opens a stream and waits for its opening. */
async function open(asked: StreamAsked = {}, url = app.url): Promise<EventClient> {
  const client = await EventClient.open(url, { token: acme, ...asked });
  clients.push(client);
  await eventually(() => expect(client.text).toContain('\n\n'));
  return client;
}

describe('GET /events', () => {
  it('is a stream of server-sent events that is neither cached nor buffered', async () => {
    const { status, headers } = await open();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[\w-]+$/),
    });
  });

  it('sends only new events of the tenant, with identifier, type and body', async () => {
    await log.append(ACME);
    const client = await open();
    const [, ours] = await log.append(GLOBEX, ACME, GLOBEX);
    await eventually(() =>
      expect(client.events).toEqual([{ id: ours?._id, type: 'posts.created', data: ours?.body }]),
    );
  });

  it('notifies every client of a tenant', async () => {
    const [one, two, other] = [await open(), await open(), await open({ token: globex })];
    const events = await log.append(ACME, GLOBEX, ACME);
    const [first, foreign, last] = events.map(({ _id }) => _id);
    await eventually(() => {
      expect([one.ids, two.ids, other.ids]).toEqual([[first, last], [first, last], [foreign]]);
    });
  });

  it('includes the appends of its own process', async () => {
    // No other wake-up would come in time.
    const own = await createStreamApp({ pollMs: 60_000 });
    try {
      const client = await open({}, own.url);
      const event = await appendIn(own, eventRecord(ACME, 1));
      await eventually(() => expect(client.ids).toEqual([event._id]));
    } finally {
      await own.close();
    }
  });

  it('begins with a comment and the newest event of the tenant, to resume from', async () => {
    const [, newest] = await log.append(ACME, ACME, GLOBEX);
    const client = await open();
    expect(client.text).toBe(`: connected\nid: ${newest?._id}\n\n`);
    expect(client.lastEventId).toBe(newest?._id);
    expect(client.events).toEqual([]);
  });

  it('also begins with an identifier to resume from for a tenant without events', async () => {
    await log.append(GLOBEX);
    const before = await open();
    before.close();
    expect(before.text).toMatch(/^: connected\nid: evt_[0-9a-f]{24}\n\n$/);
    await log.append(ACME, GLOBEX, ACME);
    const after = await open({ lastEventId: before.lastEventId });
    await eventually(() => expect(after.ids).toEqual(log.idsOf(ACME)));
    const foreign = await app.get('/events', {
      token: globex,
      headers: { 'Last-Event-ID': before.lastEventId },
    });
    expectProblem(foreign, UNKNOWN);
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

  it('answers HEAD with the headers of GET', async () => {
    const { status, headers, text } = await sendRaw(app.url, {
      method: 'HEAD',
      path: '/events',
      headers: { Authorization: `Bearer ${acme}` },
    });
    expect([status, headers.get('content-type'), text]).toEqual([200, 'text/event-stream', '']);
    const forged = await app.request('HEAD', '/events', {
      token: acme,
      headers: { 'Last-Event-ID': NOWHERE },
    });
    expect(forged.status).toBe(400);
  });

  it('is the answer whatever the client would accept', async () => {
    const { status, headers } = await open({ headers: { Accept: 'application/json' } });
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
  });

  it('speaks HTTP/1.0: without chunks, to the end of the connection', async () => {
    const socket = connect(Number(new URL(app.url).port), new URL(app.url).hostname);
    try {
      let text = '';
      socket.setEncoding('utf8').on('data', (part: string) => (text += part));
      socket.write(`GET /events HTTP/1.0\r\nAuthorization: Bearer ${acme}\r\n\r\n`);
      await eventually(() => expect(text).toContain('\n\n'));
      const [event] = await log.append(ACME);
      await eventually(() => expect(text).toContain(event?._id));
      const [head = '', content] = text.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(head).toMatch(/^connection: close$/im);
      expect(head).not.toMatch(/^transfer-encoding:/im);
      const frame = `id: ${event?._id}\nevent: posts.created\ndata: ${event?.body}\n\n`;
      expect(content?.replace(/^: connected\nid: evt_\w{24}\n\n/, '')).toBe(frame);
    } finally {
      socket.destroy();
    }
  });

  it('has no other method', async () => {
    const response = await app.post('/events', {}, { token: acme });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('requires a token with a tenant, and accepts no other parameter', async () => {
    expectUnauthenticated(await app.get('/events'), '/events');
    expectInvalidToken(await app.get('/events', { token: 'a.b.c' }), '/events');
    expectNoTenant('tenant')(await app.get('/events', { token: await tokenOf('7') }), '/events');
    expectInvalid(await app.get('/events?lastEventId=1', { token: acme }), '/events', {
      parameter: 'lastEventId',
      detail: '"lastEventId" is not a parameter here. Allowed: types.',
    });
  });
});

describe('types', () => {
  const KNOWN = 'posts.created, posts.updated, posts.archived, posts.restored, posts.*';
  /** Appends events of some types in turns. */
  async function append(...types: string[]) {
    const events = types.map((type, i) => ({ ...eventRecord(ACME, i + 1), type }));
    for (const event of events) await appendIn(app, event);
    return events.map(({ _id }) => _id);
  }

  it('narrows the stream, which resumes from any event, inside the filter or not', async () => {
    const ids = await append('posts.created', 'posts.updated', 'posts.created', 'posts.archived');
    const told = async (query: string, lastEventId: string | undefined, expected: string[]) => {
      const client = await open({ query, lastEventId });
      await eventually(() => expect(client.events.map(({ type }) => type)).toEqual(expected));
    };
    await told('?types=posts.created', ids[0], ['posts.created']);
    await told('?types=posts.archived', ids[1], ['posts.archived']);
    await told('?types=posts.updated,posts.archived', ids[0], ['posts.updated', 'posts.archived']);
    await told('?types=posts.*', ids[1], ['posts.created', 'posts.archived']);
    const live = await open({ query: '?types=posts.restored' });
    const all = await open();
    const next = ['posts.updated', 'posts.restored', 'posts.restored'];
    for (const [i, type] of next.entries()) await appendIn(app, { ...eventRecord(ACME, 10 + i), type });
    await eventually(() => expect(all.events.map(({ type }) => type)).toEqual(next));
    expect(live.events.map(({ type }) => type)).toEqual(next.slice(1));
  });

  it.each(['', 'posts.read', 'posts.created,', '*', 'todos.created', 'posts.created,posts.read'])(
    'must be known: %p',
    async (types) => {
      expectInvalid(await app.get(`/events?types=${types}`, { token: acme }), '/events', {
        parameter: 'types',
        detail: `"types" must be some of ${KNOWN}, separated by commas.`,
      });
    },
  );
});

describe('Last-Event-ID', () => {
  it('resumes after any event, without a gap or a repeat', async () => {
    const tenants = Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? GLOBEX : ACME));
    await log.append(...tenants);
    const ids = log.idsOf(ACME);
    for (const place of [0, 1, 9, 10, 99, 100, 150, ids.length - 2, ids.length - 1]) {
      const client = await open({ lastEventId: ids[place] });
      expect(client.text).toContain(`: connected\nid: ${ids[place]}\n\n`);
      const [next] = await log.append(ACME);
      ids.push(next?._id ?? '');
      await eventually(() => expect(client.ids).toEqual(ids.slice(place + 1)));
    }
  });

  it('counts as absent if it is empty', async () => {
    const [event] = await log.append(ACME);
    const client = await open({ lastEventId: '' });
    expect(client.text).toBe(`: connected\nid: ${event?._id}\n\n`);
  });

  it('of another tenant is refused like one that does not exist', async () => {
    const [foreign] = await log.append(GLOBEX, ACME);
    const texts = new Set<string>();
    for (const id of [
      foreign?._id ?? '',
      NOWHERE,
      'evt_',
      '7',
      'evt_000000000000000000000000',
      '$ne',
      'évé',
      'x'.repeat(5_000),
      `${NOWHERE}, ${NOWHERE}`,
    ]) {
      const headers = { 'Last-Event-ID': id, 'X-Request-Id': 'same' };
      const response = await app.get('/events', { token: acme, headers });
      expectProblem(response, UNKNOWN);
      texts.add(response.text);
    }
    expect(texts.size).toBe(1);
  });
});

describe('the end of a stream', () => {
  it('comes when its token expires', async () => {
    stopClock('Date', 'setTimeout');
    try {
      const expires = inSeconds(3);
      const client = await open({ token: await tokenOf(ACME, { exp: expires }) });
      passTime(expires * 1_000 - 1 - Date.now());
      const { _id } = await appendIn(app, eventRecord(ACME, 1));
      await eventually(() => expect(client.ids).toEqual([_id]));
      expect(client.end).toBeUndefined();
      passTime(1);
      await eventually(() => expect(client.end).toBe('ended'));
      expect(client.comments.at(-1)).toBe('token expired');
    } finally {
      releaseClock();
    }
  });

  it('is already reached for an expired token, even if a single request would still accept it', async () => {
    const token = await tokenOf(ACME, { exp: inSeconds(-10) });
    expectInvalidToken(await app.get('/events', { token }), '/events');
  });

  it('frees its place in memory', async () => {
    const own = await createStreamApp({ maxInAll: 1 });
    try {
      const client = await open({}, own.url);
      const refused = await own.get('/events', { token: acme });
      expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
        503,
        'OVERLOADED',
        '5',
      ]);
      client.close();
      await eventually(() => open({}, own.url).then(({ status }) => expect(status).toBe(200)));
    } finally {
      await own.close();
    }
  });
});

it('a stream continues after its database was replaced with an older one', async () => {
  await log.append(...Array.from({ length: 100 }, () => ACME));
  const client = await open();
  await app.database.collection('events').deleteMany({});
  const anew = new LoggedEvents(app.database);
  await eventually(async () => {
    await anew.append(ACME);
    await eventually(() => expect(client.events.length).toBeGreaterThan(0), 500);
  });
  expect(anew.all.length).toBeLessThan(50);
  expect(anew.idsOf(ACME)).toEqual(expect.arrayContaining(client.ids));
});
