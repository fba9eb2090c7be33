/** @mongodb */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { schemaOf } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { NoteInput } from '../../support/bulk.js';
import { eventually } from '../../support/eventually.js';
import { OpenImport } from '../../support/import-client.js';
import { expectUnauthenticated } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme } from '../../support/tenants.js';
import { type TestApp, type TestResponse, useTestApp } from '../../support/test-app.js';
import { resource } from '../../support/resource.js';

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const LIMIT = 2_000;

const importAll = (app: TestApp, path: string, body: string, headers = {}) =>
  app.request('POST', `${path}/import`, { body, headers: { ...NDJSON, ...headers } });
const outcomes = (response: TestResponse) =>
  (response.body as Record<string, unknown>[]).map(({ line, status, code }) =>
    code === undefined ? [line, status] : [line, status, code],
  );
const todo = (title: string) => JSON.stringify({ title });

describe('an import of todos', () => {
  const app = useTestApp({ env: { BODY_LIMIT: String(LIMIT) } });
  beforeEach(() => app.empty());

  const titles = async () =>
    (await app.database.collection('todos').find().sort({ _id: 1 }).toArray()).map(
      ({ title }) => title as string,
    );

  it('creates a record of each line, and answers each in order', async () => {
    const answered = await importAll(app, '/todos', `${todo('a')}\n${todo('b')}\n`);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('content-type')).toBe('application/x-ndjson');
    const stored = await app.database.collection('todos').find().sort({ _id: 1 }).toArray();
    expect(answered.body).toEqual(
      stored.map(({ _id }, i) => ({ line: i + 1, status: 201, _id: String(_id) })),
    );
    expect(stored).toMatchObject([
      { title: 'a', completed: false, __v: 0 },
      { title: 'b', completed: false, __v: 0 },
    ]);
  });

  it('counts blank lines and answers none of them', async () => {
    const answered = await importAll(
      app,
      '/todos',
      `\ufeff\r\n\n  \t\r\n${todo('a')}\r\n\r\n${todo('last')}`,
    );
    expect(outcomes(answered)).toEqual([
      [4, 201],
      [6, 201],
    ]);
    expect(await titles()).toEqual(['a', 'last']);
  });

  it.each(['', '\n', '\ufeff', '\r\n \n'])('of nothing is answered with nothing: %j', async (body) => {
    const answered = await importAll(app, '/todos', body);
    expect([answered.status, answered.text]).toEqual([200, '']);
  });

  it('without a body is answered with nothing', async () => {
    expect((await app.request('POST', '/todos/import')).status).toBe(200);
  });

  it('answers an invalid line like a single request, and goes on', async () => {
    const bad = [
      '{"title":7,"stray":1}',
      'null',
      '[]',
      '{"title"',
      '{"title":"a","__proto__":{}}',
      '{"title":{"constructor":1}}',
    ];
    const answered = await importAll(
      app,
      '/todos',
      [...bad, todo('good'), '['.repeat(900) + ']'.repeat(900)].join('\n'),
    );
    const singles = await Promise.all(bad.map((body) => app.post('/todos', body)));
    const requestId = answered.headers.get('x-request-id');
    expect(answered.body.slice(0, bad.length)).toEqual(
      singles.map(({ body }, i) => ({
        ...body,
        line: i + 1,
        requestId,
        instance: body.code === 'MALFORMED_REQUEST' ? '/todos/import' : '/todos',
      })),
    );
    expect(outcomes(answered).slice(bad.length)).toEqual([
      [7, 201],
      [8, 400, 'MALFORMED_REQUEST'],
    ]);
  });

  it('answers a line that is too long with its own 413, and has no total limit', async () => {
    const long = todo('x'.repeat(LIMIT));
    const fitting = JSON.stringify({ title: 'y', description: 'z'.repeat(LIMIT - 30) });
    expect(fitting).toHaveLength(LIMIT);
    const answered = await importAll(
      app,
      '/todos',
      [long, fitting, `${fitting} `, long.repeat(50), todo('a')].join('\n'),
    );
    expect(outcomes(answered)).toEqual([
      [1, 413, 'BODY_TOO_LARGE'],
      [2, 201],
      [3, 413, 'BODY_TOO_LARGE'],
      [4, 413, 'BODY_TOO_LARGE'],
      [5, 201],
    ]);
  });

  it('has the same result wherever its bytes are divided', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    for (const byte of Buffer.from(`\ufeff${todo('Straße 🚲')}\r\n\n${todo('日本')}\n`))
      open.write(Buffer.of(byte));
    open.end();
    expect(await open.next()).toMatchObject({ line: 1, status: 201 });
    expect(await open.next()).toMatchObject({ line: 3, status: 201 });
    expect(await open.next()).toBeUndefined();
    expect(await titles()).toEqual(['Straße 🚲', '日本']);
  });

  it('bytes that are not UTF-8 are a fault of their line', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    open.write(
      Buffer.concat([Buffer.from('{"title":"'), Buffer.of(0xff), Buffer.from(`"}\n${todo('b')}\n`)]),
    );
    open.end();
    expect(await open.next()).toMatchObject({ line: 1, status: 400, code: 'MALFORMED_REQUEST' });
    expect(await open.next()).toMatchObject({ line: 2, status: 201 });
    expect(await open.next()).toBeUndefined();
    expect(await titles()).toEqual(['b']);
  });

  it('answers each line as it arrives', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    open.write(`${todo('a')}\n{"title"`);
    expect(await open.next()).toMatchObject({ line: 1, status: 201 });
    open.write(':"b"}\n');
    expect(await open.next()).toMatchObject({ line: 2, status: 201 });
    open.end();
    expect(await open.next()).toBeUndefined();
  });

  it('stops when its client goes away, in the middle of a line', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    open.write(`${todo('a')}\n`);
    expect(await open.next()).toMatchObject({ line: 1, status: 201 });
    open.write(todo('b'));
    await open.abort();
    await eventually(() => expect(app.logLines.map(({ msg }) => msg)).toContain('client went away'));
    expect((await app.get('/todos/count')).body).toEqual({ count: 1 });
  });

  it('is read no faster than its answer', async () => {
    const fault = JSON.stringify(
      Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`unknown${i}`, i])),
    );
    const [groups, size] = [400, 10];
    const body = Array.from(
      { length: groups },
      (_, i) => `${todo(`${i}`)}\n${`${fault}\n`.repeat(size - 1)}`,
    ).join('');
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    const head = `POST /todos/import HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head + body);
    let [before, unchanged] = [-1, 0];
    await eventually(async () => {
      const now = (await titles()).length;
      unchanged = now > 0 && now === before ? unchanged + 1 : 0;
      before = now;
      expect(unchanged).toBeGreaterThan(25);
    }, 40_000);
    expect(before).toBeLessThan(groups);
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.resume();
    await once(socket, 'end');
    expect(answer.match(/"status":201/g)).toHaveLength(groups);
    expect(answer.match(/"status":400/g)).toHaveLength(groups * (size - 1));
    expect(await titles()).toHaveLength(groups);
  }, 90_000);

  it.each(['application/json', 'text/plain', 'application/x-ndjson; charset=latin1'])(
    'in another content type is a 415: %s',
    async (type) => {
      const answered = await importAll(app, '/todos', `${todo('a')}\n`, { 'Content-Type': type });
      expect([answered.status, answered.headers.get('accept')]).toEqual([415, 'application/x-ndjson']);
      expect((await app.request('POST', '/todos', { body: todo('a'), headers: NDJSON })).status).toBe(415);
    },
  );

  it('leaves others their turns while it refuses many lines', async () => {
    const COUNT = 8_000;
    const body = '{"a":1}\n'.repeat(COUNT);
    await fetch(`${app.url}/health/live`);
    const imported = fetch(`${app.url}/todos/import`, { method: 'POST', headers: NDJSON, body }).then(
      (answer) => answer.text(),
    );
    let isOver = false;
    void imported.finally(() => (isOver = true));
    let answered = 0;
    while (!isOver) {
      expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
      answered += 1;
    }
    expect((await imported).match(/\n/g)).toHaveLength(COUNT);
    expect(answered).toBeGreaterThan(10);
  });

  it('only accepts POST', async () => {
    const answered = await app.get('/todos/import');
    expect([answered.status, answered.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('an import of a resource of tenants', () => {
  const seen: string[] = [];
  const items = resource({
    name: 'items',
    fields: NoteInput,
    kept: { tenant: Prop({ type: Types.ObjectId, required: true }) },
    isolationFields: { create: { tenant: currentTenant } },
    hooks: {
      afterCreate: ({ record, caller }) => void seen.push(`${String(record.text)} of ${caller.tenant}`),
    },
    import: true,
  });
  const schema = schemaOf(items.entity).index({ tenant: 1, sku: 1 }, { unique: true });
  const app = useResourceApp(CrudModule.forFeature({ ...items, schema }));

  it('behaves like single creates: token, tenant, unique values, hooks', async () => {
    const lines = [1, 2, 1].map((n) => JSON.stringify({ text: `note ${n}`, sku: String(n) })).join('\n');
    expectUnauthenticated(await importAll(app, '/items', lines), '/items/import');
    const Authorization = `Bearer ${acme}`;
    expect(outcomes(await importAll(app, '/items', lines, { Authorization }))).toEqual([
      [1, 201],
      [2, 201],
      [3, 409, 'DUPLICATE_VALUE'],
    ]);
    expect(seen).toEqual([`note 1 of ${ACME}`, `note 2 of ${ACME}`]);
  });
});
