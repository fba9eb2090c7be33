import { describeCrudContract } from '../../../src/common/crud/testing/index.js';
import { addOwnEnhancers, PLATFORMS, readBytes, seen, useRunning } from '../../support/platforms.js';
import { each } from '../../support/records.js';
import { acme, globex } from '../../support/tenants.js';

const NDJSON = 'application/x-ndjson';
const PROBLEM = 'application/problem+json';

describe.each(Object.entries(PLATFORMS))('on %s', (platform, create) => {
  const isPlain = platform !== 'createCrudApp';
  const running = useRunning(async () => {
    const app = await create();
    addOwnEnhancers(app, isPlain);
    readBytes(app);
    return app;
  });
  const send: typeof running.send = (...request) => running.send(...request);
  const post = (body: unknown, headers?: Record<string, string>) => send('POST', '/notes', body, headers);
  const calls = (of: string) => seen.filter((line) => line.startsWith(of)).length;

  const create201 = async (text: string) => (await post({ text })).body._id as string;

  describeCrudContract('notes', {
    app: () => running.app,
    path: '/notes',
    valid: { text: 'Dear Emma', seal: 'wax' },
    changes: { seal: 'gold' },
    invalid: { 'no text': { seal: 'wax' }, 'a number': { text: 1 } },
    token: () => acme,
    otherToken: () => globex,
  });

  it('runs the guards and interceptors of the application around its routes', async () => {
    seen.length = 0;
    expect((await send('GET', '/notes/count')).status).toBe(200);
    expect([calls('guard'), calls('interceptor')]).toEqual([1, 1]);
    const barred = await send('GET', '/notes/count', undefined, { 'X-Barred': '1' });
    expect([barred.status, barred.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(barred.headers.get('content-type')).toBe(PROBLEM);
  });

  it('lets a global filter handle the errors that it names, and shows all others as problems', async () => {
    const quota = await post({ text: 'too many' });
    expect([quota.status, quota.body]).toEqual([402, { quota: 'used up' }]);
    const teapot = await post({ text: 'teapot' });
    expect([teapot.status, teapot.body.detail, teapot.body.instance]).toEqual([400, 'No tea.', '/notes']);
    const anonymous = await send('GET', '/notes', undefined, { Authorization: '' });
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(anonymous.headers.get('www-authenticate')).toContain('Bearer');
  });

  it('reads merge patches, and rejects other types, malformed and harmful bodies with problems', async () => {
    const id = await create201('to change');
    const patch = { 'Content-Type': 'application/merge-patch+json' };
    const merged = await send('PATCH', `/notes/${id}`, { seal: 'x' }, patch);
    expect([merged.status, merged.body]).toEqual([200, { updated: true }]);
    for (const [body, type, status] of [
      ['{"text":"a"}', 'text/plain', 415],
      ['text=a', 'application/x-www-form-urlencoded', 415],
      ['{"text":', 'application/json', 400],
      ['{"text":"a","__proto__":{"x":1}}', 'application/json', 400],
      ['{"text":"a","extra":{"constructor":1}}', 'application/json', 400],
    ] as const) {
      const answer = await post(body, { 'Content-Type': type });
      expect([body, answer.status, answer.headers.get('content-type')]).toEqual([body, status, PROBLEM]);
      expect(answer.body).toMatchObject({ status, instance: '/notes', requestId: expect.any(String) });
    }
    const large = await post({ text: 'x'.repeat(3_000_000) });
    expect([large.status, large.body.instance]).toEqual([413, '/notes']);
  });

  const types = ['application/json', 'text/plain', 'application/merge-patch+json', NDJSON];
  it.each(types)('ignores the type %s of a request without a body', async (type) => {
    const headers = { 'Content-Type': type };
    expect((await send('DELETE', `/notes/${await create201('a')}`, undefined, headers)).status).toBe(200);
    const created = await post('', headers);
    expect([created.status, created.body.detail]).toEqual([400, expect.stringContaining('JSON object')]);
    const imported = await send('POST', '/notes/import', '', headers);
    expect([imported.status, imported.text]).toEqual([200, '']);
  });

  it('reads the query from the URL, strictly', async () => {
    await create201('a&b');
    const found = await send('GET', '/notes?text=a%26b&limit=1');
    expect(found.body.results).toEqual([expect.objectContaining({ text: 'a&b' })]);
    for (const query of ['txt=1', 'limit=1&limit=2', 'text=%FF', 'text[nope]=1']) {
      const answer = await send('GET', `/notes?${query}`);
      expect([query, answer.status, answer.headers.get('content-type')]).toEqual([query, 400, PROBLEM]);
    }
    expect((await send('POST', '/notes?dry=1', { text: 'a' })).status).toBe(400);
  });

  it('revalidates by ETag, and keeps a change to the record that was read', async () => {
    const id = await create201('tagged');
    const etag = (await send('GET', `/notes/${id}`)).headers.get('etag') ?? '';
    const known = await send('GET', `/notes/${id}`, undefined, { 'If-None-Match': etag });
    expect([known.status, known.text]).toEqual([304, '']);
    expect((await send('PATCH', `/notes/${id}`, { seal: 'a' }, { 'If-Match': etag })).status).toBe(200);
    const stale = await send('PATCH', `/notes/${id}`, { seal: 'b' }, { 'If-Match': etag });
    expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect((await send('HEAD', `/notes/${id}`)).status).toBe(200);
  });

  it('streams whole lists', async () => {
    await create201('streamed');
    const { body: records } = await send('GET', '/notes', undefined, { Accept: NDJSON });
    expect((await send('GET', '/notes')).body).toEqual(records);
    expect(each(records, 'text')).toContain('streamed');
  });

  it('carries out a request with a key once, and repeats its answer', async () => {
    const headers = { 'Idempotency-Key': `key of ${platform}`.replaceAll(' ', '-') };
    const before = (await send('GET', '/notes/count')).body.count as number;
    const one = await post({ text: 'once' }, headers);
    const other = await post({ text: 'once' }, headers);
    const replayed = (answer: typeof one) => answer.headers.get('idempotency-replayed');
    expect([one.status, replayed(one)]).toEqual([201, null]);
    expect([other.status, other.text, replayed(other)]).toEqual([201, one.text, 'true']);
    expect(other.headers.get('location')).toBe(one.headers.get('location'));
    expect((await send('GET', '/notes/count')).body.count).toBe(before + 1);
    const reused = await post({ text: 'another' }, headers);
    expect([reused.status, reused.body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    for (const [path, body, status] of [
      ['/notes', {}, 400],
      ['/notes/bulk', { operations: [{ create: { text: 'in bulk' } }] }, 200],
    ] as const) {
      const keyed = () => send('POST', path, body, { 'Idempotency-Key': path.replaceAll('/', 'x') });
      const [done, repeated] = [await keyed(), await keyed()];
      expect([repeated.status, repeated.text, replayed(repeated)]).toEqual([status, done.text, 'true']);
    }
  });

  it('carries out bulk operations and imports through the routes of their records', async () => {
    const id = await create201('to delete');
    seen.length = 0;
    const bulk = await send('POST', '/notes/bulk', {
      operations: [
        { create: { text: 'one of many' } },
        { create: { text: 'too many' } },
        { update: { _id: id, changes: { seal: 'bulk' } } },
        { del: { _id: id } },
        { del: { _id: id } },
      ],
    });
    expect([bulk.status, each(bulk.body.results, 'status')]).toEqual([200, [201, 402, 200, 200, 404]]);
    expect(calls('guard')).toBe(6);
    const lines = { 'Content-Type': NDJSON };
    const imported = await send('POST', '/notes/import', '{"text":"line"}\n{"txt":1}\n', lines);
    expect([imported.status, each(imported.body, 'status')]).toEqual([200, [201, 400]]);
    const list = await send('GET', '/notes', undefined, { Authorization: `Bearer ${globex}` });
    expect(list.body).toEqual([]);
  });

  it('leaves the routes of the application as they were', async () => {
    const read = await send('GET', '/own?a=1&a=2&b=x');
    expect(read.body).toEqual({ text: 'hello', query: { a: ['1', '2'], b: 'x' } });
    const json = await send('POST', '/own', { nested: { constructor: 1 } });
    expect([json.status, json.body.body]).toEqual([201, { nested: { constructor: 1 } }]);
    const form = await send('POST', '/own', 'a=1&b=2', {
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    expect([form.status, form.body.body]).toEqual([201, { a: '1', b: '2' }]);
    const bytes = await send('POST', '/own/bytes', 'ÿþ', { 'Content-Type': 'application/octet-stream' });
    expect([bytes.status, bytes.body]).toEqual([201, { bytes: 4 }]);
    if (!isPlain) return;
    for (const path of ['/nowhere', '/notes/1/2']) {
      const missing = await send('PUT', path, {});
      expect([path, missing.status, missing.body]).toEqual([path, 418, { caught: true }]);
    }
  });
});
