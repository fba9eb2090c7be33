import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import type { mongo } from 'mongoose';
import { CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { titled } from '../../support/bulk.js';
import { eventually } from '../../support/eventually.js';
import { OpenImport } from '../../support/import-client.js';
import { expectProblem } from '../../support/problems.js';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

/** The smallest number of places that a process can have. */
const PLACES = 8;

const held: (() => void)[] = [];

@Controller('gate')
class GateController {
  @Get()
  hold(): Promise<object> {
    return new Promise((resolve) => held.push(() => resolve({})));
  }
}

class GatedInput {
  @IsText({ max: 20 }) title!: string;
}

@Schema({ timestamps: true })
class Gated extends GatedInput {}

const gated = crudOptions({
  entity: Gated,
  input: GatedInput,
  name: 'gated',
  bulk: true,
  hooks: { beforeCreate: () => new Promise<void>((resolve) => held.push(() => resolve())) },
});

let app: TestApp;
const open = new Set<OpenImport>();
async function start(): Promise<void> {
  const env = { MAX_RUNNING_REQUESTS: String(PLACES), MAX_WAIT_MS: '4000', TRUSTED_PROXIES: '127.0.0.1' };
  const root = serviceWith({ controllers: [GateController], imports: [CrudModule.forFeature(gated)] });
  app = await createTestApp({ env, root });
}
afterEach(async () => {
  held.splice(0).forEach((release) => release());
  for (const each of open) await each.abort();
  open.clear();
  await app.close();
});

const from = (address: string) => ({ 'X-Forwarded-For': address });
const line = (title: string) => `${JSON.stringify({ title })}\n`;
// Not by app.get, which reads the document first: that needs a place.
const textOf = async (path: string) => (await fetch(app.url + path)).text();
const figure = async (name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await textOf('/metrics'))?.[1]);

function openImport(address = '192.0.2.1'): OpenImport {
  const opened = new OpenImport(`${app.url}/todos/import`, from(address));
  open.add(opened);
  return opened;
}

/** An import that has answered its first line. */
async function running(address?: string): Promise<OpenImport> {
  const opened = openImport(address);
  opened.write(line('first'));
  expect(await opened.next()).toMatchObject({ line: 1, status: 201 });
  return opened;
}

/** Takes all places of the process; the address has an import already, which has answered. */
async function holdAllPlaces(): Promise<Promise<Response>[]> {
  const holding = Array.from({ length: PLACES }, () => fetch(`${app.url}/gate`));
  await eventually(() => expect(held).toHaveLength(PLACES));
  return holding;
}

describe('the lines of an import', () => {
  it('wait for a place like requests', async () => {
    await start();
    const opened = await running('127.0.0.1');
    const holding = await holdAllPlaces();
    opened.write(line('second'));
    await eventually(async () => expect(await figure('http_requests_waiting')).toBe(1));
    expect(await app.database.collection('todos').countDocuments()).toBe(1);
    held.splice(0).forEach((release) => release());
    expect(await opened.next()).toMatchObject({ line: 2, status: 201 });
    await Promise.all(holding);
    await eventually(async () => expect(await figure('http_requests_running')).toBe(0));
  });

  it('are not carried out if their client goes away while they wait', async () => {
    await start();
    const opened = await running('127.0.0.1');
    const holding = await holdAllPlaces();
    opened.write(line('second'));
    await eventually(async () => expect(await figure('http_requests_waiting')).toBe(1));
    await opened.abort();
    await eventually(async () => expect(await figure('http_requests_waiting')).toBe(0));
    held.splice(0).forEach((release) => release());
    await Promise.all(holding);
    await eventually(async () => expect(await figure('http_requests_running')).toBe(0));
    expect((await app.get('/todos/count')).body).toEqual({ count: 1 });
  });

  it('are not read while they wait', async () => {
    await start();
    const connection = once(app.app.getHttpServer(), 'connection');
    const opened = await running('127.0.0.1');
    const [socket] = (await connection) as [Socket];
    const holding = await holdAllPlaces();
    opened.write(line('x'.repeat(90)).repeat(100_000));
    await eventually(async () => expect(await figure('http_requests_waiting')).toBe(1));
    // Time enough to read on, if it did.
    for (let i = 0; i < 50; i++) await textOf('/health/live');
    expect(socket.bytesRead).toBeLessThan(6_000_000);
    held.splice(0).forEach((release) => release());
    await Promise.all(holding);
  });
});

describe('the items of a batch', () => {
  const TITLES = Array.from({ length: 100 }, (_, i) => `Todo ${i}`);
  const sizes: number[] = [];

  beforeEach(async () => {
    await start();
    sizes.length = 0;
    const client = app.connection.getClient();
    client.on('commandStarted', ({ commandName, command }: mongo.CommandStartedEvent) => {
      if (commandName === 'insert' && command.insert === 'todos') sizes.push(command.documents.length);
    });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a bulk request', () => app.post('/todos/bulk', { operations: TITLES.map(titled) })],
    [
      'an import',
      () =>
        app.request('POST', '/todos/import', {
          body: TITLES.map(line).join(''),
          headers: { 'Content-Type': 'application/x-ndjson' },
        }),
    ],
  ])('are carried out a few at a time, in their order: %s', async (_what, send) => {
    await send();
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PLACES / 4);
    const stored = await app.database.collection('todos').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ title }) => title as string)).toEqual(TITLES);
  });
});

describe('atomic bulks', () => {
  it('are carried out one at a time, without the places of others', async () => {
    await start();
    const send = (title: string) =>
      app.post('/gated/bulk', { atomic: true, operations: [{ create: { title } }] });
    const answers = ['one', 'two', 'three'].map(send);
    await eventually(() => expect(held).toHaveLength(1));
    await eventually(async () => expect(await figure('http_requests_running')).toBe(1));
    // On a MongoDB and on the embedded database alike, it has no command yet that others would wait for.
    expect(await textOf('/todos/count')).toBe('{"count":0}');
    for (let i = 0; i < answers.length; i++) {
      await eventually(() => expect(held).toHaveLength(1));
      held.splice(0).forEach((release) => release());
    }
    expect((await Promise.all(answers)).map(({ body }) => body.committed)).toEqual([true, true, true]);
    expect(await textOf('/gated/count')).toBe('{"count":3}');
  });
});

describe('imports', () => {
  const refused = (address: string) =>
    app.request('POST', '/todos/import', {
      body: line('more'),
      headers: { 'Content-Type': 'application/x-ndjson', ...from(address) },
    });

  it('are limited in number per client; one that goes away leaves its place', async () => {
    await start();
    const [first] = [await running(), await running(), await running(), await running()];
    const response = await refused('192.0.2.1');
    expectProblem(response, {
      status: 429,
      code: 'TOO_MANY_STREAMS',
      detail:
        'You have 4 imports running, which is the maximum. Send more lines in each, or try again later.',
      instance: '/todos/import',
    });
    expect(response.headers.get('retry-after')).toBe('5');
    expect((await refused('192.0.2.2')).status).toBe(200);
    await first.abort();
    await eventually(async () => expect((await refused('192.0.2.1')).status).toBe(200));
  });

  it('are limited in number in all; a client with most gives one up to one with fewer', async () => {
    await start();
    const [first, newest] = [await running('192.0.2.1'), await running('192.0.2.1')];
    for (let i = 2; i <= 15; i++) await running(`192.0.2.${i}`);
    expect((await refused('192.0.2.16')).status).toBe(200);
    await newest.broken();
    await eventually(() =>
      expect(app.logLines).toContainEqual(
        expect.objectContaining({ msg: 'answer broke off', level: 'info', code: 'OVERLOADED' }),
      ),
    );
    first.write(line('second'));
    expect(await first.next()).toMatchObject({ line: 2, status: 201 });
    await running('192.0.2.16');
    expectProblem(await refused('192.0.2.17'), {
      status: 503,
      code: 'OVERLOADED',
      detail: 'This process has as much to do as it can. Try again later.',
      instance: '/todos/import',
    });
  });
});
