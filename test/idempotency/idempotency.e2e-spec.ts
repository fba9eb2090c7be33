/** @mongodb */
import { useProxiedApp } from '../support/proxied-app.js';
import { eventually } from '../support/eventually.js';
import { expectInvalid } from '../support/problems.js';
import { sendRaw } from '../support/raw-http.js';
import { expectReplay, forgetAnswers, isReplay, repeated } from '../support/replays.js';
import { ACME, GLOBEX, inSeconds, tokenOf } from '../support/tenants.js';
import { type TestResponse, useTestApp } from '../support/test-app.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe.each(['generated', 'handwritten'])('Idempotency-Key of todos, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form, CORS_ORIGINS: 'https://app.example' } });
  beforeEach(() => app.empty());

  const post = (body: unknown, key: string | null = 'k1', more: Record<string, string> = {}) =>
    app.post('/todos', body, { headers: { ...more, ...(key !== null && { 'Idempotency-Key': key }) } });
  const stamps = (key?: string | null, more?: Record<string, string>) =>
    post({ title: 'Buy stamps' }, key, more);
  const bread = () => post({ title: 'Buy bread' });
  const count = () => app.database.collection('todos').countDocuments();
  const keys = () => app.database.collection('idempotency_keys');

  it('replays the first answer, byte for byte, whatever has happened to the record, and whatever is preferred now', async () => {
    const first = await stamps('k1', { Prefer: 'return=representation' });
    expect([first.status, first.headers.get('preference-applied')]).toEqual([201, 'return=representation']);
    for (const _ of ['second', 'third']) expectReplay(await stamps(), first);
    expect(await count()).toBe(1);
    await app.del(`/todos/${first.body._id}`);
    expectReplay(await stamps(), first);
    expect(await count()).toBe(0);
  });

  it('rejects the key with a body of different bytes, even if they mean the same', async () => {
    const first = await post('{"title":"Buy stamps"}');
    for (const body of ['{"title":"Buy bread"}', '{"title": "Buy stamps"}', '{}']) {
      const { status, body: problem } = await post(body);
      expect(status).toBe(422);
      expect(problem).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', title: 'Idempotency key reused' });
    }
    expectReplay(await post('{"title":"Buy stamps"}'), first);
    expect(await count()).toBe(1);
  });

  it('replays a problem byte for byte until the client chooses a new key', async () => {
    const first = await post({ title: 7, colour: 'red' });
    expect(first.status).toBe(400);
    expect(first.body.errors).toHaveLength(2);
    const replay = await post({ title: 7, colour: 'red' });
    expectReplay(replay, first);
    expect(replay.body.requestId).toBe(first.headers.get('x-request-id'));
    expect(replay.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect((await stamps()).status).toBe(422);
  });

  it('does not keep answers to unreadable requests', async () => {
    expect((await post('{"title":')).status).toBe(400);
    expect((await post('x', 'k1', { 'Content-Type': 'text/plain' })).status).toBe(415);
    const first = await stamps();
    expect([first.status, isReplay(first)]).toEqual([201, false]);
  });

  it('carries a request out once, however many arrive at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => stamps()));
    const [first, ...others] = answers.filter(({ status }) => status === 201).sort(byReplay);
    for (const replay of others) expectReplay(replay, first as TestResponse);
    for (const { status, headers, body } of answers.filter((answer) => answer.status !== 201))
      expect([status, headers.get('retry-after'), body.code]).toEqual([409, '1', 'IDEMPOTENCY_KEY_IN_USE']);
    expect(await count()).toBe(1);
    expectReplay(await stamps(), first as TestResponse);
  });

  it.each([
    ['finds the record of a process that died before it could keep the answer', false],
    ['makes the record of a process that died before it could, with the identifier that was reserved', true],
  ])('%s', async (_title, isLost) => {
    const whole = { Prefer: 'return=representation' };
    const first = await stamps('k1', isLost ? {} : whole);
    await forgetAnswers(app);
    if (isLost) await app.database.collection('todos').deleteMany({});
    const second = await stamps('k1', isLost ? {} : whole);
    expect(isLost ? second.body : repeated(second)).toEqual(isLost ? first.body : repeated(first));
    expectReplay(await stamps(), second);
    expect(await count()).toBe(1);
  });

  // The others concern the interceptor, which both forms share.
  if (form === 'handwritten') return;

  it('creates a record for each key, and for each request without one', async () => {
    const answers: TestResponse[] = [];
    for (const key of ['k1', 'k2', null, null]) answers.push(await stamps(key));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(answers.some(isReplay)).toBe(false);
    expect(await count()).toBe(4);
    expect(await keys().countDocuments()).toBe(2);
  });

  it.each(['', 'two words', 'ümlaut', 'x'.repeat(256), 'one, two'])('rejects the key "%s"', async (key) => {
    const detail = '"Idempotency-Key" must be given once, as 1 to 255 visible ASCII characters.';
    expectInvalid(await stamps(Buffer.from(key).toString('latin1')), '/todos', {
      parameter: 'Idempotency-Key',
      detail,
    });
    expect(await count()).toBe(0);
  });

  it('accepts every visible ASCII character, up to 255 of them', async () => {
    const visible = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('');
    for (const key of [visible, 'x'.repeat(255), '"8e03978e-40d5-43e8-bc93-6894a57f9324"']) {
      const first = await stamps(key);
      expect(first.status).toBe(201);
      expectReplay(await stamps(key), first);
    }
  });

  it('keeps an answer for 24 hours, and only a hash of the body', async () => {
    const before = Date.now();
    await post({ title: 'A very private title' });
    const stored = await keys().findOne();
    const expiresIn = (stored?.expiresAt as Date).getTime() - DAY_MS;
    expect(expiresIn).toBeGreaterThanOrEqual(before);
    expect(expiresIn).toBeLessThanOrEqual(Date.now());
    expect(JSON.stringify(stored)).not.toContain('private');
    const indexes = await keys().indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
  });

  it('treats an expired key as new, even if the database still has it, and with another body', async () => {
    const first = await stamps();
    await keys().updateMany({}, { $set: { expiresAt: new Date() } });
    const second = await bread();
    expect([second.status, isReplay(second)]).toEqual([201, false]);
    expect(second.body._id).not.toBe(first.body._id);
    expectReplay(await bread(), second);
    expect(await count()).toBe(2);
  });

  it('waits for a process that may be alive for 10 seconds at most', async () => {
    const before = Date.now();
    await stamps();
    const lease = ((await keys().findOne())?.leaseUntil as Date).getTime();
    expect(lease).toBeGreaterThan(before);
    expect(lease).toBeLessThanOrEqual(Date.now() + 10_000);
    await keys().updateMany({}, { $unset: { answer: 1 }, $set: { leaseUntil: new Date(lease + 60_000) } });
    const { status, headers } = await stamps();
    expect([status, headers.get('retry-after')]).toEqual([409, '1']);
    expect((await bread()).status).toBe(422);
  });

  it('shows pages of other origins whether an answer is a replay', async () => {
    const Origin = 'https://app.example';
    const { headers } = await stamps('k1', { Origin });
    expect(headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed');
    const replay = await stamps('k1', { Origin });
    expect(replay.headers.get('access-control-allow-origin')).toBe(Origin);
  });
});

const byReplay = (one: TestResponse, other: TestResponse) => Number(isReplay(one)) - Number(isReplay(other));

describe('Idempotency-Key of posts', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  const post = (token?: string) =>
    app.post('/posts/api', { title: 'Release notes' }, { token, headers: { 'Idempotency-Key': 'k1' } });

  it('belongs to a tenant and its user', async () => {
    const emma = { sub: 'emma' };
    const owners = [tokenOf(ACME, emma), tokenOf(ACME, { sub: 'otto' }), tokenOf(GLOBEX, emma)];
    const firsts: TestResponse[] = [];
    for (const token of owners) firsts.push(await post(token));
    expect(firsts.map((one) => [one.status, isReplay(one)])).toEqual(Array(3).fill([201, false]));
    expect(new Set(firsts.map(({ body }) => body._id as string)).size).toBe(3);
    // A new token of the same user is the same caller.
    const renewed = tokenOf(ACME, { ...emma, exp: inSeconds(7_200) });
    expectReplay(await post(renewed), firsts[0] as TestResponse);
    expect((await post()).status).toBe(401);
    expect((await post(tokenOf('nobody'))).status).toBe(403);
  });

  it('belongs to a path, and to every spelling of its URL', async () => {
    const first = await post(tokenOf(ACME));
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'k1' };
    const sent = { method: 'POST', headers, body: '{"title":"Release notes"}' };
    const todos: TestResponse[] = [];
    for (const path of ['/todos', '/%74odos', '/todos?', '/todos?&'])
      todos.push(await sendRaw(app.url, { ...sent, path }));
    expect([first, ...todos].map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(todos.map(isReplay)).toEqual([false, true, true, true]);
    expect(new Set(todos.map(({ body }) => body._id as string)).size).toBe(1);
    expect((await app.get('/todos/count')).body).toEqual({ count: 1 });
  });
});

describe('Idempotency-Key while the database fails', () => {
  const app = useProxiedApp();

  it.each(['hang', 'refuse'] as const)('is a 503, and free afterwards (%s)', async (mode) => {
    const send = () => app.post('/todos', { title: 'Buy stamps' }, { headers: { 'Idempotency-Key': mode } });
    await app.get('/todos?limit=1');
    await app.proxy.turn(mode);
    const failed = await send();
    expect([failed.status, failed.body.code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    await app.proxy.turn('pass');
    const first = await eventually(async () => {
      const answer = await send();
      expect(answer.status).toBe(201);
      return answer;
    });
    expect(isReplay(first)).toBe(false);
    expectReplay(await send(), first);
  });
});
