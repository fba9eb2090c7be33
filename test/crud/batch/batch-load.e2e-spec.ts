import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { titled } from '../../support/bulk.js';
import { eventually } from '../../support/eventually.js';
import { OpenImport } from '../../support/import-client.js';
import { expectProblem } from '../../support/problems.js';
import { each, storedIn } from '../../support/records.js';
import { feature } from '../../support/resource.js';
import { commandsOf } from '../../support/sent-commands.js';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

/** The smallest number of places that a process can have. */
const PLACES = 8;

const held: (() => void)[] = [];
const hold = () => new Promise<void>((resolve) => held.push(resolve));
const releaseAll = () => held.splice(0).forEach((release) => release());

@Controller('gate')
class GateController {
  @Get()
  async hold(): Promise<object> {
    await hold();
    return {};
  }
}

let app: TestApp;
const open = new Set<OpenImport>();
beforeEach(async () => {
  const env = { MAX_RUNNING_REQUESTS: String(PLACES), MAX_WAIT_MS: '4000', TRUSTED_PROXIES: '127.0.0.1' };
  const gated = feature({ name: 'gated', class: 'Gated', bulk: true, hooks: { beforeCreate: hold } });
  app = await createTestApp({ env, root: serviceWith({ controllers: [GateController], imports: [gated] }) });
});
afterEach(async () => {
  releaseAll();
  for (const one of open) await one.abort();
  open.clear();
  await app.close();
});

const from = (address: string) => ({ 'X-Forwarded-For': address });
const line = (title: string) => `${JSON.stringify({ title })}\n`;
const type = { 'Content-Type': 'application/x-ndjson' };
const importOf = (body: string, headers = {}) =>
  app.post('/todos/import', body, { headers: { ...type, ...headers } });
// Not by app.get, which reads the document first: that needs a place.
const textOf = async (path: string) => (await fetch(app.url + path)).text();
const figures = (name: string, value: number) =>
  eventually(async () => expect(await textOf('/metrics')).toContain(`\n${name} ${value}\n`));

/** An import that has answered its first line. */
async function running(address = '192.0.2.1'): Promise<OpenImport> {
  const opened = new OpenImport(`${app.url}/todos/import`, from(address));
  open.add(opened);
  opened.write(line('first'));
  expect(await opened.next()).toMatchObject({ line: 1, status: 201 });
  return opened;
}

/** An import that waits for a place with its second line, until the others are released. */
async function waiting(lines = line('second')) {
  const connection = once(app.app.getHttpServer(), 'connection');
  const opened = await running('127.0.0.1');
  const [socket] = (await connection) as [Socket];
  const holding = Array.from({ length: PLACES }, () => fetch(`${app.url}/gate`));
  await eventually(() => expect(held).toHaveLength(PLACES));
  opened.write(lines);
  await figures('http_requests_waiting', 1);
  const release = async () => {
    releaseAll();
    await Promise.all(holding);
  };
  return { opened, socket, release };
}

describe('the lines of an import', () => {
  it('wait for a place like requests', async () => {
    const { opened, release } = await waiting();
    expect(await app.database.collection('todos').countDocuments()).toBe(1);
    await release();
    expect(await opened.next()).toMatchObject({ line: 2, status: 201 });
    await figures('http_requests_running', 0);
  });

  it('are not carried out if their client goes away while they wait', async () => {
    const { opened, release } = await waiting();
    await opened.abort();
    await figures('http_requests_waiting', 0);
    await release();
    await figures('http_requests_running', 0);
    expect((await app.get('/todos/count')).body).toEqual({ count: 1 });
  });

  it('are not read while they wait', async () => {
    const { socket, release } = await waiting(line('x'.repeat(90)).repeat(100_000));
    // Time enough to read on, if it did.
    for (let i = 0; i < 50; i++) await textOf('/health/live');
    expect(socket.bytesRead).toBeLessThan(6_000_000);
    await release();
  });
});

const TITLES = Array.from({ length: 100 }, (_, i) => `Todo ${i}`);

it.each<[string, () => Promise<unknown>]>([
  ['a bulk request', () => app.post('/todos/bulk', { operations: TITLES.map(titled) })],
  ['an import', () => importOf(TITLES.map(line).join(''))],
])('the items of a batch are carried out a few at a time, in their order: %s', async (_what, send) => {
  const inserts = (await commandsOf(app, send)).filter(({ name }) => name === 'insert todos');
  const sizes = inserts.map(({ command }) => (command.documents as unknown[]).length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(PLACES / 4);
  expect(each(await storedIn(app, 'todos'), 'title')).toEqual(TITLES);
});

it('atomic bulks are carried out one at a time, without the places of others', async () => {
  const send = (text: string) =>
    app.post('/gated/bulk', { atomic: true, operations: [{ create: { text } }] });
  const answers = ['one', 'two', 'three'].map(send);
  await eventually(() => expect(held).toHaveLength(1));
  await figures('http_requests_running', 1);
  // On a MongoDB and on the embedded database alike, it has no command yet that others would wait for.
  expect(await textOf('/todos/count')).toBe('{"count":0}');
  for (let i = 0; i < answers.length; i++) {
    await eventually(() => expect(held).toHaveLength(1));
    releaseAll();
  }
  expect(each(each(await Promise.all(answers), 'body'), 'committed')).toEqual([true, true, true]);
  expect(await textOf('/gated/count')).toBe('{"count":3}');
});

describe('imports', () => {
  const refused = (address: string) => importOf(line('more'), from(address));

  it('are limited in number per client; one that goes away leaves its place', async () => {
    const [first] = [await running(), await running(), await running(), await running()];
    const response = await refused('192.0.2.1');
    const detail =
      'You have 4 imports running, which is the maximum. Send more lines in each, or try again later.';
    expectProblem(response, { status: 429, code: 'TOO_MANY_STREAMS', detail, instance: '/todos/import' });
    expect(response.headers.get('retry-after')).toBe('5');
    expect((await refused('192.0.2.2')).status).toBe(200);
    await first.abort();
    await eventually(async () => expect((await refused('192.0.2.1')).status).toBe(200));
  });

  it('are limited in number in all; a client with most gives one up to one with fewer', async () => {
    const [first, newest] = [await running('192.0.2.1'), await running('192.0.2.1')];
    for (let i = 2; i <= 15; i++) await running(`192.0.2.${i}`);
    expect((await refused('192.0.2.16')).status).toBe(200);
    await newest.broken();
    const entry = expect.objectContaining({ msg: 'answer broke off', level: 'info', code: 'OVERLOADED' });
    await eventually(() => expect(app.logLines).toContainEqual(entry));
    first.write(line('second'));
    expect(await first.next()).toMatchObject({ line: 2, status: 201 });
    await running('192.0.2.16');
    const response = await refused('192.0.2.17');
    const detail = 'This process has as much to do as it can. Try again later.';
    expectProblem(response, { status: 503, code: 'OVERLOADED', detail, instance: '/todos/import' });
  });
});
