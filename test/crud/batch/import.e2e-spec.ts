import { once } from 'node:events';
import { CrudModule, schemaOf } from '../../../src/index.js';
import { NoteInput } from '../../support/bulk.js';
import { eventually } from '../../support/eventually.js';
import { OpenImport } from '../../support/import-client.js';
import { expectUnauthenticated } from '../../support/problems.js';
import { RawConnection } from '../../support/raw-http.js';
import { each, storedIn } from '../../support/records.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme } from '../../support/tenants.js';
import { serviceWith, type TestResponse, useTestApp } from '../../support/test-app.js';

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const LIMIT = 2_000;

const seen: unknown[] = [];
const items = resource({
  name: 'items',
  fields: NoteInput,
  kept: OF_TENANT.kept,
  isolationFields: { create: OF_TENANT.isolationFields.all },
  hooks: { afterCreate: ({ record, caller }) => void seen.push([record.text, caller.tenant]) },
  import: true,
});
items.schema = schemaOf(items.entity).index({ tenant: 1, sku: 1 }, { unique: true });

const app = useTestApp({
  env: { BODY_LIMIT: String(LIMIT) },
  root: serviceWith({ imports: [CrudModule.forFeature(items)] }),
});
beforeEach(() => app.empty());

const importAll = (body: string, headers = {}, path = '/todos') =>
  app.request('POST', `${path}/import`, { body, headers: { ...NDJSON, ...headers } });
/** Line, status and code of each result. */
const outcomes = ({ body }: TestResponse) =>
  (body as Record<string, unknown>[]).map((one) =>
    [one.line, one.status, one.code].filter(Boolean).join(' '),
  );
const todo = (title: string) => JSON.stringify({ title });
const titles = async () => each(await storedIn(app, 'todos'), 'title');

describe('an import of todos', () => {
  it('creates a record of each line, and answers each in order', async () => {
    const answered = await importAll(`${todo('a')}\n${todo('b')}\n`);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('content-type')).toBe('application/x-ndjson');
    const stored = await storedIn(app, 'todos');
    const results = stored.map(({ _id }, i) => ({ line: i + 1, status: 201, _id: String(_id) }));
    expect(answered.body).toEqual(results);
    expect(stored).toMatchObject(['a', 'b'].map((title) => ({ title, completed: false, __v: 0 })));
  });

  it('counts blank lines and answers none of them', async () => {
    const answered = await importAll(`\ufeff\r\n\n  \t\r\n${todo('a')}\r\n\r\n${todo('last')}`);
    expect(outcomes(answered)).toEqual(['4 201', '6 201']);
    expect(await titles()).toEqual(['a', 'last']);
  });

  it.each([undefined, '', '\n', '\ufeff', '\r\n \n'])('of nothing is nothing: %j', async (body) => {
    const headers = body === undefined ? undefined : NDJSON;
    const answered = await app.request('POST', '/todos/import', { body, headers });
    expect([answered.status, answered.text]).toEqual([200, '']);
  });

  it('answers an invalid line like a single request, and goes on', async () => {
    const bad = ['{"title":7,"stray":1}', 'null', '[]', '{"title"', '{"title":"a","__proto__":{}}'];
    bad.push('{"title":{"constructor":1}}');
    const answered = await importAll([...bad, todo('good'), '['.repeat(900) + ']'.repeat(900)].join('\n'));
    const singles = await Promise.all(bad.map((body) => app.post('/todos', body)));
    const requestId = answered.headers.get('x-request-id');
    const expected = singles.map(({ body }, i) => {
      const instance = body.code === 'MALFORMED_REQUEST' ? '/todos/import' : '/todos';
      return { ...body, line: i + 1, requestId, instance };
    });
    expect(answered.body.slice(0, bad.length)).toEqual(expected);
    expect(outcomes(answered).slice(bad.length)).toEqual(['7 201', '8 400 MALFORMED_REQUEST']);
  });

  it('answers a line that is too long with its own 413, and has no total limit', async () => {
    const long = todo('x'.repeat(LIMIT));
    const fitting = JSON.stringify({ title: 'y', description: 'z'.repeat(LIMIT - 30) });
    expect(fitting).toHaveLength(LIMIT);
    const answered = await importAll([long, fitting, `${fitting} `, long.repeat(50), todo('a')].join('\n'));
    const tooLong = (line: number) => `${line} 413 BODY_TOO_LARGE`;
    expect(outcomes(answered)).toEqual([tooLong(1), '2 201', tooLong(3), tooLong(4), '5 201']);
  });

  it('has the same result wherever its bytes are divided', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    const text = `\ufeff${todo('Straße 🚲')}\r\n\n${todo('日本')}\n`;
    for (const byte of Buffer.from(text)) open.write(Buffer.of(byte));
    expect(await open.rest()).toMatchObject([1, 3].map((line) => ({ line, status: 201 })));
    expect(await titles()).toEqual(['Straße 🚲', '日本']);
  });

  it('bytes that are not UTF-8 are a fault of their line', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    open.write(Buffer.from(`{"title":"\xff"}\n${todo('b')}\n`, 'latin1'));
    const fault = { line: 1, status: 400, code: 'MALFORMED_REQUEST' };
    expect(await open.rest()).toMatchObject([fault, { line: 2, status: 201 }]);
    expect(await titles()).toEqual(['b']);
  });

  it('answers each line as it arrives, and stops when its client goes away in the middle of one', async () => {
    const open = new OpenImport(`${app.url}/todos/import`);
    open.write(`${todo('a')}\n{"title"`);
    expect(await open.next()).toMatchObject({ line: 1, status: 201 });
    open.write(`:"b"}\n${todo('c')}`);
    expect(await open.next()).toMatchObject({ line: 2, status: 201 });
    await open.abort();
    await eventually(() => expect(each(app.logLines, 'msg')).toContain('client went away'));
    expect(await titles()).toEqual(['a', 'b']);
  });

  it('is read no faster than its answer', async () => {
    const [groups, size] = [200, 10];
    const names = Array.from({ length: 60 }, (_, i) => [`unknown${i}`, i]);
    const faults = `${JSON.stringify(Object.fromEntries(names))}\n`.repeat(size - 1);
    const body = Array.from({ length: groups }, (_, i) => `${todo(`${i}`)}\n${faults}`).join('');
    const connection = new RawConnection(app.url);
    connection.socket.pause();
    const type = 'Content-Type: application/x-ndjson\r\nConnection: close';
    const head = `POST /todos/import HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    connection.write(head + body);
    let [before, unchanged] = [-1, 0];
    await eventually(async () => {
      const now = (await titles()).length;
      unchanged = now > 0 && now === before ? unchanged + 1 : 0;
      before = now;
      expect(unchanged).toBeGreaterThan(25);
    }, 40_000);
    expect(before).toBeLessThan(groups);
    connection.socket.resume();
    await once(connection.socket, 'end');
    expect(connection.received.match(/"status":201/g)).toHaveLength(groups);
    expect(connection.received.match(/"status":400/g)).toHaveLength(groups * (size - 1));
    expect(await titles()).toHaveLength(groups);
  }, 90_000);

  const OTHER_TYPES = ['application/json', 'text/plain', 'application/x-ndjson; charset=latin1'];
  it.each(OTHER_TYPES)('in another content type is a 415: %s', async (type) => {
    const answered = await importAll(`${todo('a')}\n`, { 'Content-Type': type });
    expect([answered.status, answered.headers.get('accept')]).toEqual([415, 'application/x-ndjson']);
    expect((await app.request('POST', '/todos', { body: todo('a'), headers: NDJSON })).status).toBe(415);
  });

  it('leaves others their turns while it refuses many lines', async () => {
    const COUNT = 4_000;
    await fetch(`${app.url}/health/live`);
    let isOver = false;
    const imported = importAll('{"a":1}\n'.repeat(COUNT)).finally(() => (isOver = true));
    let answered = 0;
    while (!isOver) {
      expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
      answered += 1;
    }
    expect((await imported).body).toHaveLength(COUNT);
    expect(answered).toBeGreaterThan(10);
  });
});

it('an import of a resource of tenants behaves like single creates: token, tenant, unique values, hooks', async () => {
  const lines = [1, 2, 1].map((n) => JSON.stringify({ text: `note ${n}`, sku: String(n) })).join('\n');
  expectUnauthenticated(await importAll(lines, {}, '/items'), '/items/import');
  const answered = await importAll(lines, { Authorization: `Bearer ${acme}` }, '/items');
  expect(outcomes(answered)).toEqual(['1 201', '2 201', '3 409 DUPLICATE_VALUE']);
  expect(seen).toEqual(['note 1', 'note 2'].map((text) => [text, ACME]));
});
