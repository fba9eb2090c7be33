import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { describeCrudContract } from '../../../src/common/crud/testing/index.js';
import { addOwnEnhancers, PLATFORMS, readBytes, seen, senderTo } from '../../support/platforms.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

describe.each(Object.entries(PLATFORMS))('on %s', (platform, create) => {
  const isPlain = platform !== 'createCrudApp';
  let app: INestApplication;
  let send: Awaited<ReturnType<typeof senderTo>>;
  let [acme, globex] = ['', ''];
  beforeAll(async () => {
    app = await create();
    addOwnEnhancers(app, isPlain);
    readBytes(app);
    await app.listen(0, '127.0.0.1');
    [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
    send = await senderTo(app, acme);
  });
  afterAll(() => app.close());

  const create201 = async (text: string) => (await send('POST', '/notes', { text })).body._id as string;

  describeCrudContract('notes', {
    app: () => app,
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
    expect(seen.filter((line) => line.startsWith('guard'))).toHaveLength(1);
    expect(seen.filter((line) => line.startsWith('interceptor'))).toHaveLength(1);
    const barred = await send('GET', '/notes/count', undefined, { 'X-Barred': '1' });
    expect([barred.status, barred.headers.get('content-type'), barred.body.code]).toEqual([
      403,
      'application/problem+json',
      'FORBIDDEN',
    ]);
  });

  it('lets a global filter handle the errors that it names, and shows all others as problems', async () => {
    const quota = await send('POST', '/notes', { text: 'too many' });
    expect([quota.status, quota.body]).toEqual([402, { quota: 'used up' }]);
    const teapot = await send('POST', '/notes', { text: 'teapot' });
    expect([teapot.status, teapot.body.detail, teapot.body.instance]).toEqual([400, 'No tea.', '/notes']);
    const anonymous = await send('GET', '/notes', undefined, { Authorization: '' });
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(anonymous.headers.get('www-authenticate')).toContain('Bearer');
  });

  it('reads merge patches, and rejects other types, malformed and harmful bodies with problems', async () => {
    const id = await create201('to change');
    const merged = await send(
      'PATCH',
      `/notes/${id}`,
      { seal: 'x' },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    expect([merged.status, merged.body]).toEqual([200, { updated: true }]);
    const cases: [string, string, number][] = [
      ['{"text":"a"}', 'text/plain', 415],
      ['text=a', 'application/x-www-form-urlencoded', 415],
      ['{"text":', 'application/json', 400],
      ['{"text":"a","__proto__":{"x":1}}', 'application/json', 400],
      [JSON.stringify({ text: 'a', extra: { constructor: 1 } }), 'application/json', 400],
    ];
    for (const [body, type, status] of cases) {
      const answer = await send('POST', '/notes', body, { 'Content-Type': type });
      expect([body, answer.status, answer.headers.get('content-type')]).toEqual([
        body,
        status,
        'application/problem+json',
      ]);
      expect(answer.body).toMatchObject({ status, instance: '/notes', requestId: expect.any(String) });
    }
    const large = await send('POST', '/notes', { text: 'x'.repeat(3_000_000) });
    expect([large.status, large.body.instance]).toEqual([413, '/notes']);
  });

  it.each(['application/json', 'text/plain', 'application/merge-patch+json', 'application/x-ndjson'])(
    'ignores the type %s of a request without a body',
    async (type) => {
      const headers = { 'Content-Type': type };
      expect((await send('DELETE', `/notes/${await create201('a')}`, undefined, headers)).status).toBe(200);
      const created = await send('POST', '/notes', '', headers);
      expect([created.status, created.body.detail]).toEqual([400, expect.stringContaining('JSON object')]);
      const imported = await send('POST', '/notes/import', '', headers);
      expect([imported.status, imported.text]).toEqual([200, '']);
    },
  );

  it('reads the query from the URL, strictly', async () => {
    await create201('a&b');
    const found = await send('GET', '/notes?text=a%26b&limit=1');
    expect(found.body.results).toEqual([expect.objectContaining({ text: 'a&b' })]);
    for (const query of ['txt=1', 'limit=1&limit=2', 'text=%FF', 'text[nope]=1']) {
      const answer = await send('GET', `/notes?${query}`);
      expect([query, answer.status, answer.headers.get('content-type')]).toEqual([
        query,
        400,
        'application/problem+json',
      ]);
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
    const lines = await send('GET', '/notes', undefined, { Accept: 'application/x-ndjson' });
    const records = lines.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { text: string });
    const whole = await send('GET', '/notes');
    expect(whole.body).toEqual(records);
    expect(records.map(({ text }) => text)).toContain('streamed');
  });

  it('carries out a request with a key once, and repeats its answer', async () => {
    const headers = { 'Idempotency-Key': `key of ${platform}`.replaceAll(' ', '-') };
    const before = (await send('GET', '/notes/count')).body.count as number;
    const [one, other] = [
      await send('POST', '/notes', { text: 'once' }, headers),
      await send('POST', '/notes', { text: 'once' }, headers),
    ];
    expect([one.status, one.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect([other.status, other.text, other.headers.get('idempotency-replayed')]).toEqual([
      201,
      one.text,
      'true',
    ]);
    expect(other.headers.get('location')).toBe(one.headers.get('location'));
    expect((await send('GET', '/notes/count')).body.count).toBe(before + 1);
    const reused = await send('POST', '/notes', { text: 'another' }, headers);
    expect([reused.status, reused.body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    const invalid = { 'Idempotency-Key': 'invalid-one' };
    const first = await send('POST', '/notes', {}, invalid);
    const again = await send('POST', '/notes', {}, invalid);
    expect([first.status, again.status, again.text]).toEqual([400, 400, first.text]);
    const bulk = { operations: [{ create: { text: 'in bulk' } }] };
    const [done, repeated] = [
      await send('POST', '/notes/bulk', bulk, { 'Idempotency-Key': 'a-bulk' }),
      await send('POST', '/notes/bulk', bulk, { 'Idempotency-Key': 'a-bulk' }),
    ];
    expect([repeated.text, repeated.headers.get('idempotency-replayed')]).toEqual([done.text, 'true']);
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
    expect([bulk.status, bulk.body.results.map(({ status }: { status: number }) => status)]).toEqual([
      200,
      [201, 402, 200, 200, 404],
    ]);
    expect(seen.filter((line) => line.startsWith('guard'))).toHaveLength(6);
    const imported = await send('POST', '/notes/import', '{"text":"line"}\n{"txt":1}\n', {
      'Content-Type': 'application/x-ndjson',
    });
    const results = imported.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: number });
    expect([imported.status, results.map(({ status }) => status)]).toEqual([200, [201, 400]]);
    const list = await send('GET', '/notes', undefined, { Authorization: `Bearer ${globex}` });
    expect(list.body).toEqual([]);
  });

  it('describes its routes in the document', () => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    expect(Object.keys(document.paths['/notes/{id}'] ?? {}).sort()).toEqual(['delete', 'get', 'patch']);
    expect(document.components?.schemas).toHaveProperty('Note');
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
