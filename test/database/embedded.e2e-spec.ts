/** @slow */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Variables } from '../../src/config/index.js';
import { eventually } from '../support/eventually.js';
import { RawConnection } from '../support/raw-http.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { each } from '../support/records.js';
import { sendTo } from '../support/send-to.js';
import { type ServiceProcess, useServices } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { TEST_SECRET } from '../support/tenants.js';

const WATCHED = ['--import', resolve('test/support/hanging-monitor.js')];

describe('without MONGODB_URI, the service', () => {
  const services = useServices();
  const inFolder = (...names: string[]) => join(services.folder, ...names);
  const start = (limit?: string) => services.start({}, limit);

  /** Asserts that a process ends at its start, with 1 and one line. */
  async function expectFailure(sentence: RegExp, env: Variables = {}, limit?: string): Promise<void> {
    const own = { DATA_DIR: services.folder, JWT_SECRET: TEST_SECRET, PORT: '0', ...env };
    const { code, stderr } = await services.spawn(own, undefined, limit).ended();
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)]);
  }

  async function stop({ service }: { service: ServiceProcess }, signal: NodeJS.Signals = 'SIGTERM') {
    service.signal(signal);
    return service.ended();
  }

  const post = (url: string, title: string) => sendTo(url, 'POST', '/todos', { body: { title } });

  async function create(url: string, title: string): Promise<string> {
    const { status, body } = await post(url, title);
    expect(status).toBe(201);
    return body._id as string;
  }

  async function startWithTodo() {
    const started = await start();
    await create(started.url, 'Water the plants');
    return started;
  }

  const titles = async (url: string) => each((await sendTo(url, 'GET', '/todos')).body, 'title');

  it('is ready at once, keeps its data in its own folder, and the next start finds them', async () => {
    const started = await startWithTodo();
    const ready = await sendTo(started.url, 'GET', '/health/ready');
    expect([ready.status, ready.body]).toEqual([200, { status: 'ok' }]);
    expect(statSync(inFolder('mongodb')).mode & 0o077).toBe(0);
    const { port } = new URL(started.url);
    const taken = new RegExp(`PORT ${port} is in use by another process\\.`);
    await expectFailure(taken, { DATA_DIR: inFolder('other'), PORT: port });
    // What earlier versions have stored has this name.
    const stdout = expect.stringContaining('.sock/posts-and-todos"') as string;
    expect(await stop(started)).toMatchObject({ code: 0, stdout, stderr: '' });
    expect(await titles((await start()).url)).toEqual(['Water the plants']);
  });

  it.each([
    ['is a file', 'file', '.'],
    ['is in a folder where none can be made', '/proc/x', '.'],
    ['has a file in the place of the folder of the database', '.', 'mongodb'],
    ['has a file in the place of the folder of the records', '.', 'mongodb/lmdb'],
  ])('does not start, and says so in one sentence, if DATA_DIR %s', async (_, path, inside) => {
    const dir = resolve(services.folder, path);
    const place = join(dir, inside);
    if (path !== '/proc/x') {
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, '');
    }
    const sentence =
      inside !== 'mongodb/lmdb'
        ? `^DATA_DIR must be a folder that can be written; ${place} is not.\n$`
        : `^The folder ${dirname(place)} cannot hold the embedded database: .+ Name a folder that .+\n$`;
    await expectFailure(new RegExp(sentence), { DATA_DIR: dir });
  });

  it('ends with one line if one of its files is missing, or if the disk has no room for data, new or old', async () => {
    await stop(await startWithTodo());
    const missing = /^The data file .*data\.mdb cannot be opened: .* is missing.* Put a backup .*\n$/;
    for (const file of ['data.mdb', 'journal'].map((name) => inFolder('mongodb', 'lmdb', name))) {
      renameSync(file, `${file}.away`);
      await expectFailure(missing);
      renameSync(`${file}.away`, file);
    }
    const full = /^There is no room for the data \(\w+\)\. Free some space on .*\n$/;
    for (const dir of [inFolder(), inFolder('new')]) await expectFailure(full, { DATA_DIR: dir }, '-f 0');
    expect(await titles((await start()).url)).toEqual(['Water the plants']);
  });

  it('ends with one line if a byte of the journal is wrong, and goes on without a record that was cut short', async () => {
    await stop(await startWithTodo(), 'SIGKILL');
    const journal = inFolder('mongodb', 'lmdb', 'journal');
    const sentence = /^The journal .* is damaged at byte .* Put a backup .*\n$/;
    const bytes = readFileSync(journal);
    const damaged = Buffer.from(bytes);
    const middle = Math.floor(bytes.length / 2);
    damaged.writeUInt8(damaged.readUInt8(middle) ^ 1, middle);
    writeFileSync(journal, damaged);
    await expectFailure(sentence);
    writeFileSync(journal, Buffer.concat([bytes, bytes.subarray(34, 54)]));
    const again = await start();
    expect(await titles(again.url)).toEqual(['Water the plants']);
    const { stderr } = await stop(again);
    const cut = /The journal .* was cut off at byte \d+ of \d+: what followed .* never acknowledged\./g;
    expect(stderr.match(cut)).toHaveLength(1);
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
    for (; response.status === 201; response = await post(url, `Todo ${acknowledged.length}`))
      acknowledged.push(`Todo ${acknowledged.length}`);
    expect([response.status, response.body.code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    for (let i = 0; i < 50; i++) {
      const title = `Todo ${acknowledged.length}`;
      const { status } = await post(url, title);
      // A checkpoint makes room.
      if (status === 201) acknowledged.push(title);
      else expect(status).toBe(503);
    }
    // Lists begin with the newest.
    acknowledged.reverse();
    expect(await titles(url)).toEqual(acknowledged);
    const { stdout } = await stop({ service }, 'SIGKILL');
    const causes = stdout.match(/(?<="level":"(?:error|warn)".*"reason":")[^"]+/g) ?? [];
    expect(causes).toEqual([...new Set(causes)]);
    expect(causes.length).toBeGreaterThan(0);
    expect(await titles((await start()).url)).toEqual(acknowledged);
  });

  it('goes on while clients hold as many connections as it may open files', async () => {
    const { url } = await start('-n 128');
    // On one kept connection.
    const probe = async () => {
      const response = await fetch(`${url}/health/live`);
      expect(await response.json()).toEqual({ status: 'ok' });
      return response.headers.get('date');
    };
    await probe();
    const idle = Array.from({ length: 200 }, () => new RawConnection(url));
    await eventually(() => expect(idle.some(({ socket }) => socket.destroyed)).toBe(true));
    // It takes figures of itself every second of its own clock.
    for (const seconds = new Set(); seconds.size < 4;) seconds.add(await probe());
    for (const connection of idle) connection.close();
    await eventually(() => create(url, 'Water the plants'));
  });

  it.each(['.', 'lmdb/data.mdb', 'lmdb/journal'])('acknowledges nothing once %s is removed', async (path) => {
    const { service, url } = await startWithTodo();
    rmSync(inFolder('mongodb', path), { recursive: true });
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
      await stop(first, signal);
      await eventually(() => reads(second.url));
      const third = await start();
      await reads(third.url);
      await stop(second, signal);
      await eventually(() => reads(third.url));
    },
  );

  it('takes over although the driver has stopped looking for the database', async () => {
    const first = await startWithTodo();
    const second = await services.start({}, undefined, WATCHED);
    await second.service.says(/The monitor is watched/);
    first.service.signal('SIGSTOP');
    const waiting = fetch(`${second.url}/todos`);
    for (let i = 0; i < 10; i += 1) await fetch(`${second.url}/health/live`);
    await Promise.all([stop(first, 'SIGKILL'), waiting]);
    await eventually(async () => expect(await titles(second.url)).toEqual(['Water the plants']));
  });

  it('finds a database by its URI although the driver has stopped looking for it', async () => {
    const uri = freshDatabaseUri();
    const proxy = await TcpProxy.before(uri);
    const { service, url } = await services.start({ MONGODB_URI: proxy.through(uri) }, undefined, WATCHED);
    await service.says(/The monitor is watched/);
    await proxy.turn('hang');
    const waiting = fetch(`${url}/todos`);
    for (let i = 0; i < 10; i += 1) await fetch(`${url}/health/live`);
    await proxy.turn('pass');
    await waiting;
    await eventually(async () => expect((await fetch(`${url}/todos`)).status).toBe(200));
    await proxy.close();
  });
});
