import { once } from 'node:events';
import { Controller, Get, Headers } from '@nestjs/common';
import type { Variables } from '../../../src/config/index.js';
import { eventually } from '../../support/eventually.js';
import { passTime, releaseClock, stopClock } from '../../support/own-clock.js';
import { RawConnection, rawHead } from '../../support/raw-http.js';
import { ACME, acme, globex, inSeconds, tokenOf } from '../../support/tenants.js';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

/** What the gate holds back, by the name that its client gives. */
let waiting: { name: string; open: () => void }[] = [];
let begun = 0;

@Controller('gate')
class GateController {
  @Get('begun')
  begin(): object {
    return { begun: ++begun };
  }

  @Get()
  hold(@Headers('x-name') name: string): Promise<object> {
    return new Promise((resolve) => waiting.push({ name, open: () => resolve({ name }) }));
  }
}

let app: TestApp;
async function start(env: Variables): Promise<void> {
  app = await createTestApp({ env, root: serviceWith({ controllers: [GateController] }) });
}
afterEach(async () => {
  releaseClock();
  jest.restoreAllMocks();
  waiting.forEach(({ open }) => open());
  waiting = [];
  await app.close();
});

const send = (path: string, headers: Record<string, string> = {}) => fetch(app.url + path, { headers });
const hold = (name: string, headers: object = {}) => send('/gate', { 'X-Name': name, ...headers });
const held = () => waiting.map(({ name }) => name);
const authorized = (token: string) => ({ Authorization: `Bearer ${token}` });
const create = (token: string) => {
  const headers = { 'Content-Type': 'application/json', ...authorized(token) };
  return fetch(`${app.url}/posts/api`, { method: 'POST', headers, body: '{"title":"Release notes"}' });
};

/** Opens the gate for everybody, again and again, until the responses are there; their statuses. */
async function opened(responses: Promise<Response>[]): Promise<number[]> {
  const opening = setInterval(() => waiting.forEach(({ open }) => open()), 1);
  return statusesOf(responses).finally(() => clearInterval(opening));
}

async function statusesOf(responses: Promise<Response>[]): Promise<number[]> {
  return (await Promise.all(responses)).map(({ status }) => status);
}

async function expectRefused(response: Response, status: number, code: string): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
  expect(await response.json()).toMatchObject({ status, code });
}

describe('a limit of requests per minute', () => {
  it('of an address refuses requests beyond it, whatever address they claim, but still accepts probes', async () => {
    await start({ RATE_LIMIT_ADDRESS: '3' });
    const claiming = (i: number) => send('/todos', { 'X-Forwarded-For': `192.0.2.${i}` });
    for (let i = 0; i < 3; i++) expect((await claiming(i)).status).toBe(200);
    await expectRefused(await claiming(3), 429, 'TOO_MANY_REQUESTS');
    expect((await send('/health/ready')).status).toBe(200);
    const reason = { status: 429, code: 'TOO_MANY_REQUESTS', limit: 'address' };
    const line = expect.objectContaining({ path: '/todos', address: '127.0.0.1', ...reason });
    await eventually(() => expect(app.logLines).toContainEqual(line));
  });

  it('applies to the client behind a trusted proxy, and ignores any other claimed address', async () => {
    await start({ RATE_LIMIT_ADDRESS: '1', TRUSTED_PROXIES: '127.0.0.1' });
    for (const [addresses, status] of [
      ['192.0.2.1', 200],
      ['192.0.2.2', 200],
      ['192.0.2.3, 192.0.2.2', 429],
    ] as const)
      expect((await send('/todos', { 'X-Forwarded-For': addresses })).status).toBe(status);
  });

  it('of a tenant does not affect others', async () => {
    await start({ RATE_LIMIT_TENANT: '2' });
    // Whose the first one is nobody knows before its token was verified.
    for (let i = 0; i < 3; i++) expect((await create(acme)).status).toBe(201);
    await expectRefused(await create(acme), 429, 'TOO_MANY_REQUESTS');
    expect((await create(globex)).status).toBe(201);
    expect((await send('/posts/api')).status).toBe(200);
  });

  it('of a tenant is not spent by a token that has expired, on a public route either', async () => {
    await start({ RATE_LIMIT_TENANT: '3' });
    stopClock('Date');
    const expiring = tokenOf(ACME, { exp: inSeconds(60) });
    expect((await create(expiring)).status).toBe(201);
    passTime(61_000);
    for (let i = 0; i < 10; i++) expect((await send('/todos', authorized(expiring))).status).toBe(200);
    for (let i = 0; i < 4; i++) expect((await create(tokenOf(ACME))).status).toBe(201);
  });

  it('of bad tokens refuses them unread, but no good tokens or requests without one', async () => {
    await start({ RATE_LIMIT_BAD_TOKENS: '3' });
    expect((await create(acme)).status).toBe(201);
    for (let i = 0; i < 3; i++) expect((await create(`${acme}${i}`)).status).toBe(401);
    await eventually(async () => expectRefused(await create(`${acme}x`), 429, 'TOO_MANY_REQUESTS'));
    expect((await create(acme)).status).toBe(201);
    expect((await send('/todos')).status).toBe(200);
  });
});

describe('a process at full capacity', () => {
  const FULL = 8;

  /** Starts with a clock of the test's own, so that no request is given up before the test says so. */
  async function startAt(env: Variables = {}): Promise<void> {
    await start({ MAX_RUNNING_REQUESTS: String(FULL), MAX_WAIT_MS: '4000', ...env });
    stopClock('setTimeout');
  }

  it('refuses more at once, and serves again when its work is done', async () => {
    await startAt({ MAX_WAIT_MS: '1' });
    const taken = Array.from({ length: FULL }, () => hold('taken'));
    await eventually(() => expect(held()).toHaveLength(FULL));
    await eventually(async () => expectRefused(await send('/todos'), 503, 'OVERLOADED'));
    expect((await send('/health/live')).status).toBe(200);
    waiting.forEach(({ open }) => open());
    expect(await statusesOf(taken)).toEqual(taken.map(() => 200));
    expect((await send('/todos')).status).toBe(200);
  });

  it('never loses a place for good to a request that is refused', async () => {
    await startAt({ MAX_WAIT_MS: '1' });
    for (const path of ['/todos/', '/posts/api/', '/todos/not-an-id', '/nowhere', '/todos?stray=1']) {
      for (let i = 0; i < 2 * FULL; i++) expect([400, 404]).toContain((await send(path)).status);
      expect([path, (await send('/todos')).status]).toEqual([path, 200]);
    }
  });

  it('gives a tenant no more than its share while there are others', async () => {
    await startAt();
    expect(await statusesOf([create(acme), create(globex)])).toEqual([201, 201]);
    const ofGlobex = [hold('globex', authorized(globex))];
    await eventually(() => expect(held()).toEqual(['globex']));
    const ofAcme = Array.from({ length: 3 * FULL }, () => hold('acme', authorized(acme)));
    await eventually(() => expect(held()).toContain('acme'));
    waiting[0]?.open();
    // What comes later is served before the requests that acme has waiting.
    for (let i = 0; i < FULL; i++)
      expect((await send('/todos?limit=1', authorized(globex))).status).toBe(200);
    expect(held().filter((name) => name === 'acme').length).toBeLessThan(FULL);
    expect(new Set(await opened([...ofGlobex, ...ofAcme]))).toEqual(new Set([200]));
  });

  it('leaves half of the places to tenants, however many addresses send without a token', async () => {
    await startAt({ TRUSTED_PROXIES: '127.0.0.1' });
    // Whose the first one is nobody knows before its token was verified.
    for (let i = 0; i < 2; i++) expect((await create(acme)).status).toBe(201);
    const from = Array.from({ length: 3 * FULL }, (_, i) => `192.0.2.${i}`);
    const ofAddresses = from.map((address) => hold('address', { 'X-Forwarded-For': address }));
    await eventually(() => expect(held()).toContain('address'));
    for (let i = 0; i < FULL; i++) expect((await create(acme)).status).toBe(201);
    expect(held().length).toBeLessThanOrEqual(FULL / 2);
    expect(new Set(await opened(ofAddresses))).toEqual(new Set([200]));
  });

  it('lets a tenant wait for its own requests while there are places for others', async () => {
    await startAt({ MAX_WAIT_MS: '200' });
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    expect(await statusesOf([create(acme), create(globex)])).toEqual([201, 201]);
    const holdOne = () => hold('acme', authorized(acme));
    const ofAcme = [holdOne(), holdOne()];
    await eventually(() => expect(held()).toEqual(['acme']));
    now.mockReturnValue(performance.now() + 300);
    ofAcme.push(holdOne(), holdOne());
    expect(await opened(ofAcme)).toEqual([200, 200, 200, 200]);
  });

  it('answers within five seconds, whatever a handler does', async () => {
    await startAt();
    const slow = hold('slow');
    await eventually(() => expect(held()).toEqual(['slow']));
    passTime(5_000);
    await expectRefused(await slow, 503, 'DEADLINE_EXCEEDED');
    waiting.forEach(({ open }) => open());
    expect((await send('/todos')).status).toBe(200);
    // Only of the request: the work in the background has a context, and had no more time either.
    const warnings = app.logLines.filter(({ level, context }) => level === 'warn' && context === undefined);
    expect(warnings).toEqual([]);
  });

  it('counts the time that a request waits for its turn', async () => {
    await startAt();
    const first = Array.from({ length: FULL }, () => hold('first'));
    await eventually(() => expect(held()).toHaveLength(FULL));
    const last = hold('last');
    const metrics = async () => (await send('/metrics')).text();
    await eventually(async () => expect(await metrics()).toMatch(/^http_requests_waiting 1$/m));
    passTime(3_000);
    expect(held()).not.toContain('last');
    waiting.splice(0).forEach(({ open }) => open());
    expect(await statusesOf(first)).toEqual(first.map(() => 200));
    await eventually(() => expect(held()).toEqual(['last']));
    passTime(2_000);
    await expectRefused(await last, 503, 'DEADLINE_EXCEEDED');
  });
});

it('a limit of the average delay of the event loop refuses requests above it, but not probes, and serves again below it', async () => {
  // Longer than the second of the average.
  const block = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
  await start({ MAX_EVENT_LOOP_DELAY_MS: '100' });
  await eventually(async () => {
    block();
    await expectRefused(await send('/todos'), 503, 'OVERLOADED');
  });
  block();
  expect((await send('/health/live')).status).toBe(200);
  await eventually(async () => expect((await send('/todos')).status).toBe(200));
});

it('requests that arrive at once begin in several turns of the event loop, so that those which have begun go on in between', async () => {
  await start({});
  const begin = ({ socket }: RawConnection) =>
    Promise.all([once(socket, 'data'), socket.write(rawHead('GET /gate/begun'))]);
  // The service has accepted each connection, since it has answered on it.
  const clients = Array.from({ length: 200 }, () => new RawConnection(app.url));
  await Promise.all(clients.map(begin));
  begun = 0;
  let before = 0;
  let largest = 0;
  const watch = () => {
    largest = Math.max(largest, begun - before);
    before = begun;
    if (begun < clients.length) setImmediate(watch);
  };
  const answers = clients.map(begin);
  watch();
  await Promise.all(answers);
  expect(begun).toBe(200);
  expect(largest).toBeLessThanOrEqual(2 * 16);
  for (const client of clients) client.close();
});
