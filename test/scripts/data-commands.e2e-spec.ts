/** @slow */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../support/mongodb.js';
import { runNode } from '../support/run.js';
import { buildService, ServiceProcess } from '../support/service-process.js';
import { TEST_SECRET } from '../support/tenants.js';

const TODOS = 300;
const HAS_RECORDS = expect.stringContaining('has records already.') as string;

const folder = mkdtempSync(join(tmpdir(), 'data-'));
const dirOf = (name: string) => join(folder, name);
let service: ServiceProcess;
let url: string;
const start = (name: string) =>
  ServiceProcess.spawn({ DATA_DIR: dirOf(name), PORT: '0', JWT_SECRET: TEST_SECRET });

beforeAll(async () => {
  buildService();
  service = start('first');
  url = await service.url();
});
afterAll(async () => {
  service.signal('SIGTERM');
  await service.ended();
  rmSync(folder, { recursive: true });
});

/** Runs a command as `npm run data` does, on a folder of records if one is named. */
function run(args: string[], { dir, input }: { dir?: string; input?: string } = {}) {
  const { MONGODB_URI: _, ...inherited } = process.env;
  const env = { ...inherited, ...(dir && { DATA_DIR: dirOf(dir) }) };
  return runNode(['scripts/data.js', ...args], { env, input });
}

const todosAt = async (base: string) => (await (await fetch(`${base}/todos`)).json()) as unknown[];

/** Every record of a service on a folder, as clients see them. */
async function todosIn(name: string): Promise<unknown[]> {
  const other = start(name);
  const todos = await todosAt(await other.url());
  other.signal('SIGTERM');
  await other.ended();
  return todos;
}

it('seed, export and import carry records into a running service and out of it', async () => {
  const created = expect.stringMatching(/^Created 300 records in [\d.]+ s\.\n$/) as string;
  const seeded = run(['seed', '--todos', String(TODOS), '--url', url]);
  expect(seeded).toEqual({ status: 0, stdout: '', stderr: created });
  expect(await todosAt(url)).toHaveLength(TODOS);
  const query = 'completed=true&sort=title';
  const { status, stdout } = run(['export', 'todos', '--url', url, '--query', query]);
  const exported = stdout.trim().split('\n');
  expect([status, exported.length]).toEqual([0, TODOS / 5]);
  expect(JSON.parse(exported[0] ?? '')).toMatchObject({ title: expect.any(String), completed: true });
  const input = `${exported.slice(0, 2).join('\n')}\n{"titel": "Wrong"}\nnot JSON\n`;
  const faults = /^Line 3: .*"titel".*\nLine 4: .*JSON.*\nImported 2 records in [\d.]+ s\.\n$/;
  const imported = run(['import', 'todos', '--url', url], { input });
  expect(imported).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(faults) });
  expect(await todosAt(url)).toHaveLength(TODOS + 2);
});

it.each([
  ['seed', '--todos', '3'],
  ['export', 'todos'],
  ['import', 'todos'],
])('%s %s without a running service explains how to start one', (...args) => {
  const { status, stderr } = run([...args, '--url', 'http://127.0.0.1:2']);
  expect([status, stderr]).toEqual([1, expect.stringContaining('cannot be reached: connect ECONNREFUSED')]);
  expect(stderr).toContain('Start it with npm start, or pass --url.');
});

it('answers an unknown option with one sentence', () => {
  const stderr = "Unknown option '--todo'; --help lists the options.\n";
  expect(run(['seed', '--todo', '3'])).toEqual({ status: 1, stdout: '', stderr });
});

it('a backup is taken while the service runs, restored elsewhere, and never mixed with other records', async () => {
  const file = dirOf('backup.ndjson.gz');
  const taken = run(['backup', file], { dir: 'first' });
  expect([taken.status, statSync(file).mode & 0o077]).toEqual([0, 0]);
  expect(run(['restore', file], { dir: 'second' }).status).toBe(0);
  expect(await todosIn('second')).toEqual(await todosAt(url));
  const { status, stderr } = run(['restore', file], { dir: 'second' });
  expect([status, stderr]).toEqual([1, HAS_RECORDS]);
});

it('nothing is restored of a damaged backup', async () => {
  const [whole, cut] = [dirOf('whole.gz'), dirOf('cut.gz')];
  run(['backup', whole], { dir: 'first' });
  writeFileSync(cut, readFileSync(whole).subarray(0, -100));
  const { status, stderr } = run(['restore', cut], { dir: 'third' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('is damaged')]);
  expect(await todosIn('third')).toEqual([]);
});

const { uri, database } = useDatabase();

it('a MongoDB takes over the embedded data, and gives them back', async () => {
  expect(run(['move', '--to', uri], { dir: 'first' }).status).toBe(0);
  const todos = await todosAt(url);
  expect(await database.collection('todos').countDocuments()).toBe(todos.length);
  expect(run(['move', '--from', uri], { dir: 'fourth' }).status).toBe(0);
  expect(await todosIn('fourth')).toEqual(todos);
  const { status, stderr } = run(['move', '--to', uri], { dir: 'first' });
  expect([status, stderr]).toEqual([1, HAS_RECORDS]);
});
