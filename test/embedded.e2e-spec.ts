import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './support/eventually.js';
import { buildService, ServiceProcess } from './support/service-process.js';
import { TEST_SECRET } from './support/tenants.js';

const WITHIN_MS = 10_000;

describe('without MONGODB_URI, the service', () => {
  let folder: string;
  const started: ServiceProcess[] = [];

  beforeAll(() => buildService(), 60_000);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'service-'));
  });
  afterEach(async () => {
    for (const service of started.splice(0)) {
      service.signal('SIGKILL');
      await service.ended();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(limit?: string): Promise<{ service: ServiceProcess; url: string }> {
    const service = ServiceProcess.spawn({ DATA_DIR: folder, PORT: '0' }, undefined, limit);
    started.push(service);
    return { service, url: await service.url() };
  }

  function post(url: string, title: string): Promise<Response> {
    const headers = { 'Content-Type': 'application/json' };
    return fetch(`${url}/todos`, { method: 'POST', headers, body: JSON.stringify({ title }) });
  }

  async function create(url: string, title: string): Promise<string> {
    const response = await post(url, title);
    expect(response.status).toBe(201);
    return ((await response.json()) as { _id: string })._id;
  }

  async function titles(url: string): Promise<string[]> {
    const todos = (await (await fetch(`${url}/todos`)).json()) as { title: string }[];
    return todos.map(({ title }) => title);
  }

  it('is ready at once, and keeps its data in its own folder', async () => {
    const { url } = await start();
    const ready = await fetch(`${url}/health/ready`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ok' }]);
    expect(statSync(join(folder, 'mongodb')).mode & 0o077).toBe(0);
  });

  it('does not start if DATA_DIR cannot be a folder', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const env = { DATA_DIR: file, JWT_SECRET: TEST_SECRET, PORT: '0' };
    const { code, stderr } = await ServiceProcess.spawn(env).ended();
    expect([code, stderr]).toEqual([1, `DATA_DIR must be a folder that can be written; ${file} is not.\n`]);
  });

  it.each(['data.mdb', 'journal'])('ends with one line if %s is missing', async (file) => {
    const { service, url } = await start();
    await create(url, 'Water the plants');
    service.signal('SIGTERM');
    await service.ended();
    rmSync(join(folder, 'mongodb', 'lmdb', file));
    const env = { DATA_DIR: folder, JWT_SECRET: TEST_SECRET, PORT: '0' };
    const { code, stderr } = await ServiceProcess.spawn(env).ended();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The data file .*data\.mdb cannot be opened: .* is missing.* Put a backup .*\n$/,
      ),
    ]);
  });

  it('exits at once if the port is taken', async () => {
    const { port } = new URL((await start()).url);
    const env = { DATA_DIR: join(folder, 'other'), PORT: port };
    const { code, stderr } = await ServiceProcess.spawn(env).ended();
    expect([code, stderr]).toEqual([1, expect.stringContaining('PORT is in use by another process.')]);
  });

  it('exits in time on SIGTERM, and the next start finds its data', async () => {
    const { service, url } = await start();
    await create(url, 'Water the plants');
    const begun = performance.now();
    service.signal('SIGTERM');
    const { code, stderr } = await service.ended();
    expect([code, stderr]).toEqual([0, '']);
    expect(performance.now() - begun).toBeLessThan(WITHIN_MS);
    expect(await titles((await start()).url)).toEqual(['Water the plants']);
  });

  it('loses nothing that it acknowledged when it is killed', async () => {
    const { service, url } = await start();
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; ; i += 1) {
        const title = `Todo ${writer}.${i}`;
        await create(url, title);
        acknowledged.push(title);
      }
    });
    const ended = Promise.allSettled(writers);
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(20));
    service.signal('SIGKILL');
    await Promise.all([ended, service.ended()]);
    expect(await titles((await start()).url)).toEqual(expect.arrayContaining(acknowledged));
  });

  it('answers 503 where the disk is full, goes on reading, and has lost nothing when there is room again', async () => {
    const { service, url } = await start('-f 512');
    const acknowledged: string[] = [];
    let response = await post(url, 'Todo 0');
    for (; response.status === 201; response = await post(url, `Todo ${acknowledged.length}`)) {
      acknowledged.push(`Todo ${acknowledged.length}`);
    }
    const { code } = (await response.json()) as { code: string };
    expect([response.status, code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    // Lists begin with the newest.
    acknowledged.reverse();
    expect(await titles(url)).toEqual(acknowledged);
    service.signal('SIGKILL');
    await service.ended();
    expect(await titles((await start()).url)).toEqual(acknowledged);
  });

  it('goes on while clients hold as many connections as it may open files', async () => {
    const { url } = await start('-n 128');
    const { hostname, port } = new URL(url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const probe = async () => {
      const [response] = (await once(get(`${url}/health/live`, { agent }), 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      expect(response.statusCode).toBe(200);
    };
    await probe();
    const idle = Array.from({ length: 200 }, () => connect(Number(port), hostname).on('error', () => {}));
    await eventually(() => expect(idle.some(({ destroyed }) => destroyed)).toBe(true));
    // It takes figures of itself every second.
    for (const begun = performance.now(); performance.now() - begun < 2_000;) await probe();
    for (const socket of idle) socket.destroy();
    await eventually(() => create(url, 'Water the plants'));
    agent.destroy();
  });

  it('acknowledges nothing once its files have been removed', async () => {
    const { service, url } = await start();
    await create(url, 'Water the plants');
    rmSync(join(folder, 'mongodb'), { recursive: true });
    const response = await post(url, 'Feed the cat');
    expect(response.status).toBe(503);
    await service.says(/"reason":"The files of the database in [^"]*mongodb\/lmdb have been removed/);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'shares the data with a second process on the same folder, which takes over at a %s of the first, and gives back',
    async (signal) => {
      const [first, second] = [await start(), await start()];
      const id = await create(second.url, 'Water the plants');
      const reads = async (url: string) => expect((await fetch(`${url}/todos/${id}`)).status).toBe(200);
      await reads(first.url);
      first.service.signal(signal);
      await first.service.ended();
      await eventually(() => reads(second.url), 20_000);
      const third = await start();
      await reads(third.url);
      second.service.signal(signal);
      await second.service.ended();
      await eventually(() => reads(third.url), 20_000);
    },
    60_000,
  );
});
