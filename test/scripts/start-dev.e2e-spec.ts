/** @slow */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { copyProject } from '../support/project-copy.js';

const RESTART_MS = 60_000;
const SAVES = 2;

let copy: string;
let child: ChildProcess;
let url: string;
let output = '';

beforeAll(async () => {
  copy = copyProject();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const { MONGODB_URI: _, ...env } = process.env;
  child = spawn('npm', ['run', 'start:dev'], {
    cwd: copy,
    env: { ...env, NODE_ENV: 'development', NODE_OPTIONS: '', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that the end of the test ends npm, the watcher and the service.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
}, RESTART_MS);

afterAll(async () => {
  const ended = once(child, 'close');
  if (child.pid) process.kill(-child.pid, 'SIGTERM');
  await ended;
  rmSync(copy, { recursive: true, force: true, maxRetries: 10 });
}, RESTART_MS);

it(
  'npm run start:dev works in a fresh clone, and serves each change with the data of before',
  async () => {
    await summaryIs('Whether the process runs; never asks the database');
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ title: 'Water the plants' });
    expect((await fetch(`${url}/todos`, { method: 'POST', headers, body })).status).toBe(201);
    for (let save = 1; save <= SAVES; save += 1) {
      change(`Liveness ${save}`);
      await summaryIs(`Liveness ${save}`);
      const todos = await fetch(`${url}/todos/count`);
      expect([todos.status, await todos.json()]).toEqual([200, { count: 1 }]);
    }
    expect(output).not.toContain('is in use by another process');
  },
  SAVES * RESTART_MS,
);

const CONTROLLER = 'src/common/health/index.ts';
const OTHERS = ['src/common/http/index.ts', 'src/app.module.ts'];

/** Saves three files at once, as an editor does that renames something; one of them changes what the document says. */
function change(summary: string): void {
  const controller = readFileSync(join(copy, CONTROLLER), 'utf8');
  writeFileSync(
    join(copy, CONTROLLER),
    controller.replace(/(health_live', summary: ')[^']*/, `$1${summary}`),
  );
  for (const name of OTHERS) appendFileSync(join(copy, name), `// ${summary}\n`);
}

/** Waits until the service is ready, and says of GET /health/live what the sources say. */
async function summaryIs(expected: string): Promise<void> {
  await eventually(async () => {
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const document = (await (await fetch(`${url}/docs/openapi.json`)).json()) as {
      paths: Record<string, { get: { summary: string } }>;
    };
    expect(document.paths['/health/live']?.get.summary).toBe(expected);
  }, RESTART_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${output.split('\n').slice(-30).join('\n')}`);
  });
}
