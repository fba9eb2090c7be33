/** @slow */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { freePort } from '../support/free-port.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { buildService, ServiceProcess } from '../support/service-process.js';
import { TEST_SECRET } from '../support/tenants.js';

const TODOS = 300;
const COMMAND_MS = 120_000;

let folder: string;
let service: ServiceProcess;
let url: string;
const dirOf = (name: string) => join(folder, name);

beforeAll(async () => {
  buildService();
  folder = mkdtempSync(join(tmpdir(), 'data-'));
  service = ServiceProcess.spawn({ DATA_DIR: dirOf('first'), PORT: '0', JWT_SECRET: TEST_SECRET });
  url = await service.url();
}, COMMAND_MS);
afterAll(async () => {
  service.signal('SIGTERM');
  await service.ended();
  rmSync(folder, { recursive: true });
}, COMMAND_MS);

/** Runs a command as `npm run data` does. */
async function run(
  name: string,
  args: string[],
  { env = {}, input = '' }: { env?: object; input?: string } = {},
) {
  const { MONGODB_URI: _, ...inherited } = process.env;
  const child = spawn(process.execPath, ['scripts/data.js', name, ...args], {
    env: { ...inherited, ...env },
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...said };
}

const countAt = async (base: string) =>
  ((await (await fetch(`${base}/todos/count`)).json()) as { count: number }).count;

/** Every record of a service on a folder, as clients see them. */
async function todosIn(dir: string): Promise<unknown> {
  const other = ServiceProcess.spawn({ DATA_DIR: dir, PORT: '0', JWT_SECRET: TEST_SECRET });
  const todos = await (await fetch(`${await other.url()}/todos`)).json();
  other.signal('SIGTERM');
  await other.ended();
  return todos;
}

it(
  'seed, export and import carry records into a running service and out of it',
  async () => {
    expect(await run('seed', ['--todos', String(TODOS), '--url', url])).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^Created 300 records in [\d.]+ s\.\n$/),
    });
    expect(await countAt(url)).toBe(TODOS);
    const query = ['--query', 'completed=true&sort=title'];
    const { code, stdout } = await run('export', ['todos', '--url', url, ...query]);
    const exported = stdout.trim().split('\n');
    expect([code, exported.length]).toEqual([0, TODOS / 5]);
    expect(JSON.parse(exported[0] ?? '')).toMatchObject({ title: expect.any(String), completed: true });
    const input = `${exported.slice(0, 2).join('\n')}\n{"titel": "Wrong"}\nnot JSON\n`;
    expect(await run('import', ['todos', '--url', url], { input })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^Line 3: .*"titel".*\nLine 4: .*JSON.*\nImported 2 records in [\d.]+ s\.\n$/,
      ),
    });
    expect(await countAt(url)).toBe(TODOS + 2);
  },
  COMMAND_MS,
);

it('a command without a running service explains how to start one', async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  for (const [name, args] of [
    ['seed', ['--todos', '3']],
    ['export', ['todos']],
    ['import', ['todos']],
  ] as const) {
    const { code, stderr } = await run(name, [...args, '--url', nobody]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be reached: connect ECONNREFUSED')]);
    expect(stderr).toContain('Start it with npm start, or pass --url.');
  }
});

it('explains itself with --help, and writes nothing', async () => {
  const { code, stdout } = await run('backup', ['--help']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: npm run data -- <command>\n/)]);
});

it('answers an unknown option with one sentence', async () => {
  expect(await run('seed', ['--todo', '3'])).toEqual({
    code: 1,
    stdout: '',
    stderr: "Unknown option '--todo'; --help lists the options.\n",
  });
});

it(
  'a backup is taken while the service runs, restored elsewhere, and never mixed with other records',
  async () => {
    const file = dirOf('backup.ndjson.gz');
    const taken = await run('backup', [file], { env: { DATA_DIR: dirOf('first') } });
    expect([taken.code, statSync(file).mode & 0o077]).toEqual([0, 0]);
    const env = { DATA_DIR: dirOf('second') };
    expect((await run('restore', [file], { env })).code).toBe(0);
    expect(await todosIn(dirOf('second'))).toEqual(await (await fetch(`${url}/todos`)).json());
    const again = await run('restore', [file], { env });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has records already.')]);
  },
  COMMAND_MS,
);

it(
  'nothing is restored of a damaged backup',
  async () => {
    const whole = dirOf('whole.gz');
    await run('backup', [whole], { env: { DATA_DIR: dirOf('first') } });
    const bytes = readFileSync(whole);
    writeFileSync(dirOf('cut.gz'), bytes.subarray(0, bytes.length - 100));
    const { code, stderr } = await run('restore', [dirOf('cut.gz')], { env: { DATA_DIR: dirOf('third') } });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/is damaged/)]);
    expect(await todosIn(dirOf('third'))).toEqual([]);
  },
  COMMAND_MS,
);

it(
  'the embedded data move to a MongoDB and back',
  async () => {
    const uri = freshDatabaseUri();
    const client = new mongoose.mongo.MongoClient(uri);
    try {
      expect((await run('move', ['--to', uri], { env: { DATA_DIR: dirOf('first') } })).code).toBe(0);
      expect(await client.db().collection('todos').countDocuments()).toBe(await countAt(url));
      expect((await run('move', ['--from', uri], { env: { DATA_DIR: dirOf('fourth') } })).code).toBe(0);
      expect(await todosIn(dirOf('fourth'))).toEqual(await (await fetch(`${url}/todos`)).json());
      const again = await run('move', ['--to', uri], { env: { DATA_DIR: dirOf('first') } });
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has records already.')]);
    } finally {
      await client.db().dropDatabase();
      await client.close();
    }
  },
  COMMAND_MS,
);
