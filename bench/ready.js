/**
 * How long it takes from `npm start` with a finished build until /health/ready answers 200, on the embedded database:
 *
 *   node bench/ready.js [runs, 7 by default]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const POLL_MS = 5;

const runs = Number(process.argv[2] ?? 7);
const times = [];
for (let run = 0; run < runs; run++) times.push(await measure());
const sorted = [...times].sort((a, b) => a - b);
console.log(`npm start to ready: ${times.join(', ')} ms; median ${sorted[runs >> 1]} ms`);

async function measure() {
  const dir = mkdtempSync(join(tmpdir(), 'ready-'));
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), DATA_DIR: dir, MONGODB_URI: '' };
  const begun = performance.now();
  // A group of its own, which ends as a whole.
  const npm = spawn('npm', ['start'], { env, stdio: 'ignore', detached: true });
  const ended = once(npm, 'exit');
  while (!(await isReady(port))) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const time = Math.round(performance.now() - begun);
  process.kill(-npm.pid, 'SIGKILL');
  await ended;
  rmSync(dir, { recursive: true });
  return time;
}

async function isReady(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
  return answer?.status === 200;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
