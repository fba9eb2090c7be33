/** @mongodb */
import mongoose from 'mongoose';
import { StoredBytes } from '../../src/common/idempotency/stored-bytes.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { expectProblem } from '../support/problems.js';
import { expectReplay } from '../support/replays.js';
import { acme } from '../support/tenants.js';
import { createTestApp, type TestApp, useApp, useTestApp } from '../support/test-app.js';

const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(',');

const MANY = `{"create":{${times(60, (i) => `"${i}":1`)}}}`;

/** Bodies whose answers repeat more than was sent. */
const AMPLIFYING: [name: string, path: string, body: string][] = [
  ['operations that are none', '/todos/bulk', `{"operations":[${times(1_000, () => '1')}]}`],
  ['operations with unknown members', '/todos/bulk', `{"operations":[${times(600, () => '{"a":1}')}]}`],
  ['operations with unknown fields', '/todos/bulk', `{"operations":[${times(100, () => MANY)}]}`],
  ['operations on wrong ids', '/todos/bulk', `{"operations":[${times(1_000, () => '{"del":{"_id":"1"}}')}]}`],
  ['unknown fields', '/todos', `{${times(400, (i) => `"a${i}":1`)}}`],
  ['one long name', '/todos', `{"${'x'.repeat(500_000)}":1}`],
  ['long names', '/todos', `{${times(60, (i) => `"${i}${'x'.repeat(9_000)}":1`)}}`],
];

/** Beside what was sent, and beside 16 times that: the envelope of an answer, and 40 bytes for each operation. */
const MAX_ANSWER = 65_536 + 40 * 1_000;

/** A faulty record that is no smaller than what is told of it. */
const LARGE = { title: 7, description: 'x'.repeat(100) };

describe('what an idempotency key stores', () => {
  const app = useTestApp({ env: { WORKER: 'off' } });

  const keys = () => app.database.collection('idempotency_keys');

  it.each(AMPLIFYING)(
    'is hardly more than was sent, and its answer is bounded by that: %s',
    async (key, path, body) => {
      const headers = { 'Idempotency-Key': key.replaceAll(' ', '-') };
      await keys().deleteMany({});
      const first = await app.post(path, body, { headers });
      expect(first.text.length).toBeLessThan(MAX_ANSWER + 8 * body.length);
      const stored = await keys().findOne();
      expect(mongoose.mongo.BSON.calculateObjectSize(stored ?? {})).toBeLessThan(2_048 + 2 * body.length);
      expectReplay(await app.post(path, body, { headers }), first);
    },
  );

  it('is 400 with at most 50 faults and no long name in the answer', async () => {
    const name = 'x'.repeat(5_000);
    const queries = [`${name}=1`, `title[${name}]=1`, `sort=${name}`, `fields=${name}`];
    const answers = queries.map((query) => app.get(`/todos?${query}`));
    for (const { body, text } of await Promise.all([app.post('/todos', { [name]: 1 }), ...answers])) {
      expect(body.code).toBe('VALIDATION_FAILED');
      expect(text.length).toBeLessThan(9_000);
      expect(text).toMatch(/Allowed: /);
    }
    const many = times(60, (i) => `a${i}=1`).replaceAll(',', '&');
    expect((await app.get(`/todos?${many}`)).body.errors).toHaveLength(50);
  });

  it('tells each of the first operations what is wrong with it, and the code of each of the others', async () => {
    const resultsOf = async (operations: unknown[]) =>
      (await app.post('/todos/bulk', { operations })).body.results as Record<string, unknown>[];
    const results = await resultsOf([...Array<number>(999).fill(1), { create: { title: 'Tea' } }]);
    expect(results[0]).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', detail: expect.any(String) });
    expect(results[998]).toEqual({ status: 400, code: 'VALIDATION_FAILED' });
    expect(results[999]).toMatchObject({ status: 201 });
    const told = await resultsOf(Array<object>(500).fill({ create: LARGE }));
    expect(told.filter(({ detail }) => typeof detail === 'string')).toHaveLength(500);
  });

  it('tells each faulty line of an ordinary import what is wrong with it, and shortens those of a hostile one', async () => {
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const importing = (lines: number, line: string) =>
      app.post('/todos/import', `${line}\n`.repeat(lines), { headers });
    const ordinary = (await importing(500, JSON.stringify(LARGE))).body as { detail?: string }[];
    expect(ordinary.filter(({ detail }) => detail !== undefined)).toHaveLength(500);
    const hostile = await importing(2_000, '1');
    const faults = Array.from({ length: 2_000 }, (_, i) => ({ line: i + 1, code: 'VALIDATION_FAILED' }));
    expect(hostile.body).toMatchObject(faults);
    expect(hostile.text.length).toBeLessThan(65_536 + 8 * 4_000 + 70 * 2_000);
  });

  it('is replayed as an earlier version has stored it', async () => {
    const headers = { 'Idempotency-Key': 'of-yesterday' };
    const first = await app.post('/todos', '{"titel":"x"}', { headers });
    const body = { 'answer.body': Buffer.from(first.text) };
    await keys().updateMany({}, { $set: body, $unset: { 'answer.coding': 1 } });
    expectReplay(await app.post('/todos', '{"titel":"x"}', { headers }), first);
  });
});

describe('a client that has stored as much with idempotency keys as it may', () => {
  const FULL = 4 * 512;
  const env = { MONGODB_URI: freshDatabaseUri(), WORKER: 'off', TRUSTED_PROXIES: '127.0.0.1' };
  const start = async (limits: StoredBytes['limits']) => {
    const started = await createTestApp({ env });
    started.app.get(StoredBytes, { strict: false }).limits = limits;
    return started;
  };
  const LIMITS = { tenant: FULL, address: FULL, addresses: 2 * FULL };
  const [app, other] = [useApp(() => start(LIMITS)), useApp(() => start(LIMITS))];

  let number = 0;
  const post = (one: TestApp, address: string, key = `key-${number++}`) => {
    const headers = { 'X-Forwarded-For': address, ...(key && { 'Idempotency-Key': key }) };
    return one.post('/todos', { title: 'Tea' }, { headers });
  };

  /** Stores keys until no more is allowed; returns the last answer. */
  async function fill(address: string) {
    for (;;) {
      const answer = await post(app, address);
      if (answer.status !== 201) return answer;
    }
  }

  it('gets 429 for a new key, from another process, too, and its replays, and writes nothing twice or unasked', async () => {
    const first = await post(app, '192.0.2.1', 'first');
    expect(first.status).toBe(201);
    const refused = await fill('192.0.2.1');
    const detail =
      'Your tenant, or your address, has stored as much with Idempotency-Keys as it may in 24 hours. Try again later, or leave the header out.';
    expectProblem(refused, { status: 429, code: 'TOO_MANY_REQUESTS', detail, instance: '/todos' });
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(3_600);
    expect(await app.database.collection('todos').countDocuments()).toBeLessThan(5);
    expectReplay(await post(app, '192.0.2.1', 'first'), first);
    expect((await post(app, '192.0.2.1', '')).status).toBe(201);
    const sums = app.database.collection('idempotency_bytes');
    await eventually(async () => expect(await sums.countDocuments({ bytes: { $gte: FULL } })).toBe(2));
    expect((await post(other, '192.0.2.1')).status).toBe(429);
  });

  it('leaves other addresses, and tenants, what is theirs', async () => {
    expect((await post(app, '192.0.2.2')).status).toBe(201);
    expect((await fill('192.0.2.2')).status).toBe(429);
    // All addresses without a token together.
    expect((await post(app, '192.0.2.3')).status).toBe(429);
    const headers = { 'Idempotency-Key': 'of-a-tenant', 'X-Forwarded-For': '192.0.2.3' };
    expect((await app.post('/posts/api', { title: 'Tea' }, { token: acme, headers })).status).toBe(201);
  });

  it('may store new keys when its hours end to count', async () => {
    await app.database.collection('idempotency_bytes').deleteMany({});
    const third = await start({ tenant: 0, address: FULL, addresses: 1e9 });
    expect((await post(third, '192.0.2.1')).status).toBe(201);
    const indexes = await app.database.collection('idempotency_bytes').indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
    await third.leave();
  });
});
