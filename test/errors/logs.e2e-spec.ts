/** @slow */
import { mock } from 'node:test';
import { PassThrough } from 'node:stream';
import { OUTAGE } from '../../src/common/errors/index.js';
import { createLog, PinoLogger } from '../../src/common/server/index.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { RawConnection, rawHead, sendBytes } from '../support/raw-http.js';
import { useServices } from '../support/service-process.js';
import { ACME, forgedToken, goodClaims, inSeconds, tokenOf } from '../support/tenants.js';
import { collecting, type TestRequest, useTestApp } from '../support/test-app.js';

type Line = Record<string, unknown>;

const services = useServices();

describe('while the database cannot be reached', () => {
  it('logs one short line for all attempts to open it, and one for all requests, besides their own', async () => {
    const { service, url } = await services.start({ MONGODB_URI: 'mongodb://127.0.0.1:1/none' });
    for (let i = 0; i < 20; i++) {
      const headers = { 'X-Request-Id': `probe-${i}` };
      for (const path of ['/health/ready', '/todos', '/todos?limit=5'])
        expect((await fetch(url + path, { headers })).status).toBe(503);
    }
    service.signal('SIGTERM');
    const { stdout } = await service.ended();
    const parsed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    const common = { level: 'error', time: expect.any(String) };
    const reason = 'connect ECONNREFUSED 127.0.0.1:1';
    const code = 'DATABASE_UNAVAILABLE';
    const msg = 'The database cannot be reached or is too slow. Try again later.';
    expect(parsed.filter(({ level }) => level === 'error')).toEqual([
      { ...common, context: 'Database', reason, msg: 'The database cannot be opened; trying again' },
      { ...common, context: 'Problem', requestId: 'probe-0', code, msg },
    ]);
    const answered = parsed.filter((line) => line.msg === 'answered');
    expect(answered).toMatchObject(Array(60).fill({ level: 'info', status: 503, code }));
  });
});

describe('lines about an outage', () => {
  const lines: Line[] = [];
  const log = new PinoLogger(createLog('info', collecting(lines)));
  beforeEach(() => mock.timers.enable());
  afterEach(() => {
    mock.timers.reset();
    lines.splice(0);
  });

  const fail = (fields: object, times = 1) => {
    for (let i = 0; i < times; i++) log.error({ ...OUTAGE, ...fields }, 'Not now');
  };

  it('are one per cause at once, and then their number each minute, until there are none', () => {
    const full = { code: 'DATABASE_UNAVAILABLE', reason: 'No space left' };
    fail(full, 926);
    for (let i = 0; i < 50; i++) fail({ ...full, reason: `connection ${i} closed` });
    expect(lines).toMatchObject([full, { reason: 'connection 0 closed' }]);
    expect(lines.filter((line) => 'count' in line)).toEqual([]);
    mock.timers.tick(60_000);
    expect(lines.slice(2)).toMatchObject([
      { ...full, count: 925 },
      { reason: 'connection 49 closed', count: 49 },
    ]);
    fail(full, 3);
    mock.timers.tick(60_000);
    expect(lines.slice(4)).toMatchObject([{ ...full, count: 3 }]);
    mock.timers.tick(600_000);
    expect(lines).toHaveLength(5);
    fail(full);
    // Others are told each time.
    for (let i = 0; i < 3; i++) log.error({ reason: 'No space left' }, 'Not now');
    expect(lines).toHaveLength(9);
  });

  it('are few, however many texts a cause has', () => {
    for (let i = 0; i < 1_000; i++)
      fail({ reason: 'abcdefghij'.slice(0, 1 + (i % 10)).repeat(1 + Math.floor(i / 10)) });
    expect(lines.length).toBeLessThanOrEqual(101);
  });
});

describe('the lines of requests', () => {
  const app = useTestApp();

  const linesOf = (requestId: string) => app.logLines.filter((line) => line.requestId === requestId);

  it('say who asked for what, from where, when in UTC, and why it was refused, but no query and no token', async () => {
    const token = tokenOf(ACME, { sub: 'emma' });
    const path = '/posts/api/665f1c2ab7e3a90d4c8b9999';
    const before = new Date().toISOString();
    await app.get('/posts/api?limit=17', { token });
    await app.patch(path, { title: 'New' }, { token, headers: { 'X-Request-Id': 'refused' } });
    const request = { requestId: 'refused', method: 'PATCH', path, address: '127.0.0.1' };
    const answer = { status: 404, code: 'RECORD_NOT_FOUND', ms: expect.any(Number), msg: 'answered' };
    const who = { tenant: ACME, subject: 'emma' };
    const line = { level: 'info', time: expect.any(String), ...request, ...who, ...answer };
    await eventually(() => expect(linesOf('refused')).toEqual([line]));
    const time = String(linesOf('refused')[0]?.time);
    expect(new Date(time).toISOString()).toBe(time);
    expect(time >= before).toBe(true);
    for (const secret of ['limit=17', token.split('.')[1]])
      expect(JSON.stringify(app.logLines)).not.toContain(secret);
  });

  it('say for every token whose it is, or that it was refused and why', async () => {
    const write = (requestId: string, token: string) =>
      app.post('/posts/api', { title: 'New' }, { token, headers: { 'X-Request-Id': requestId } });
    await write('good', tokenOf(ACME, { sub: 'emma' }));
    await write('expired', tokenOf(ACME, { exp: inSeconds(-3600) }));
    await write('forged', forgedToken({ alg: 'none' }, goodClaims(), { hash: null }));
    await write('homeless', tokenOf('', { sub: 'emma' }));
    await eventually(() => expect(linesOf('homeless')).toHaveLength(1));
    const common = { method: 'POST', path: '/posts/api', address: '127.0.0.1', msg: 'answered' };
    const refused = { ...common, status: 401, code: 'INVALID_TOKEN' };
    expect(['good', 'expired', 'forged', 'homeless'].flatMap(linesOf)).toMatchObject([
      { ...common, status: 201, tenant: ACME, subject: 'emma' },
      { ...refused, reason: 'ERR_JWT_EXPIRED' },
      { ...refused, reason: 'ERR_JOSE_ALG_NOT_ALLOWED' },
      { ...common, status: 403, code: 'TENANT_REQUIRED', subject: 'emma' },
    ]);
  });

  it.each<[code: string, method: string, path: string, request?: TestRequest]>([
    ['VALIDATION_FAILED', 'POST', '/todos', { body: { title: 1 } }],
    ['MALFORMED_REQUEST', 'POST', '/todos', { body: '{' }],
    ['UNSUPPORTED_MEDIA_TYPE', 'POST', '/todos', { body: 'x', headers: { 'Content-Type': 'text/plain' } }],
    ['VALIDATION_FAILED', 'GET', '/todos?title[$ne]=x'],
    ['INVALID_ID', 'GET', '/todos/1'],
    ['METHOD_NOT_ALLOWED', 'DELETE', '/todos'],
    ['PATH_NOT_FOUND', 'GET', '/.env'],
    ['UNAUTHENTICATED', 'GET', '/subscriptions'],
  ])('say for every refusal which check caused it: %s, %s %s', async (code, method, path, request) => {
    const requestId = `${code}-${method}`;
    const headers = { ...request?.headers, 'X-Request-Id': requestId };
    await app.request(method, path, { ...request, headers });
    const line = { method, code, address: '127.0.0.1' };
    await eventually(() => expect(linesOf(requestId)).toMatchObject([line]));
  });

  it('report bytes that are not HTTP, with the identifier in the answer', async () => {
    const { body } = await sendBytes(app.url, rawHead('GET /to dos'));
    const line = { address: '127.0.0.1', status: 400, code: 'MALFORMED_REQUEST' };
    await eventually(() => expect(linesOf(String(body.requestId))).toMatchObject([line]));
  });

  it('report a client that goes away during its body, which is not an error', async () => {
    const client = new RawConnection(app.url);
    const headers = ['X-Request-Id: gone', 'Content-Type: application/json', 'Content-Length: 1000'];
    client.write(rawHead('POST /todos', ...headers), '{"title":');
    // Its head has been read when another request is answered.
    await app.get('/health/live');
    client.close();
    await eventually(() => expect(linesOf('gone').map(({ msg }) => msg)).toContain('client went away'));
    expect(linesOf('gone').filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

describe('the log', () => {
  it('contains no line or terminal command that a logged text forges', () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const log = createLog('info', terminal);
    const forged = '\n[10:00:00] INFO: forged \u001b[2J\u0007';
    log.info(`A text${forged}`);
    log.info({ title: forged, error: new Error(forged, { cause: new Error(forged) }) }, 'Fields');
    const shown = String(terminal.read());
    expect(shown).toContain('A text');
    expect(shown).not.toMatch(/^\[10:00:00\] INFO: forged/m);
    for (const command of ['\u0007', '\u001b[2J']) expect(shown).not.toContain(command);
  });

  it('does not stop the service when its reader ends', async () => {
    const { service, url } = await services.start({ MONGODB_URI: freshDatabaseUri() });
    service.stopReading();
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/health/live`)).status).toBe(200);
    service.signal('SIGTERM');
    expect((await service.ended()).code).toBe(0);
  });
});
