/** @slow */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually.js';
import { useProjectCopy } from '../support/project-copy.js';
import { runNode, TOOLS_MS } from '../support/run.js';

let child: ChildProcess;
let url: string;
let output = '';

// Before the copy is removed.
afterAll(async () => {
  const ended = once(child, 'close');
  if (child.pid) process.kill(-child.pid, 'SIGTERM');
  await ended;
}, TOOLS_MS);
const copy = useProjectCopy();
beforeAll(() => {
  const PORT = runNode(['.ci/free-port.js']).stdout.trim();
  url = `http://127.0.0.1:${PORT}`;
  const { MONGODB_URI: _, ...env } = process.env;
  child = spawn('npm', ['run', 'start:dev'], {
    cwd: copy.path,
    env: { ...env, NODE_ENV: 'development', NODE_OPTIONS: '', PORT },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that the end of the test ends npm, the watcher and the service.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
});

it(
  'npm run start:dev works in a fresh clone, and serves each change with the data of before',
  async () => {
    await summaryIs('Whether the process runs; never asks the database');
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ title: 'Water the plants' });
    expect((await fetch(`${url}/todos`, { method: 'POST', headers, body })).status).toBe(201);
    for (const summary of ['Liveness 1', 'Liveness 2']) {
      change(summary);
      await summaryIs(summary);
      const todos = await fetch(`${url}/todos/count`);
      expect([todos.status, await todos.json()]).toEqual([200, { count: 1 }]);
    }
    expect(output).not.toContain('is in use by another process');
  },
  TOOLS_MS,
);

/** Saves three files at once, as an editor does that renames something; one of them changes what the document says. */
function change(summary: string): void {
  const controller = join(copy.path, 'src/common/health/index.ts');
  const source = readFileSync(controller, 'utf8');
  writeFileSync(controller, source.replace(/(health_live', summary: ')[^']*/, `$1${summary}`));
  for (const name of ['src/common/http/index.ts', 'src/app.module.ts'])
    appendFileSync(join(copy.path, name), `// ${summary}\n`);
}

/** Waits until the service is ready, and says of GET /health/live what the sources say. */
async function summaryIs(expected: string): Promise<void> {
  await eventually(async () => {
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const document: unknown = await (await fetch(`${url}/docs/openapi.json`)).json();
    expect(document).toMatchObject({ paths: { '/health/live': { get: { summary: expected } } } });
  }, TOOLS_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${output.split('\n').slice(-30).join('\n')}`);
  });
}
