/**
 * Measures how long a finished build takes from `node dist/bundle/main.js` until /health/ready answers 200,
 * the CPU time for that, and the resident memory after two seconds without requests (Linux only). Alternates
 * between the embedded database and MONGODB_URI, if it is set, with existing empty collections:
 *
 *   npm run bench:ready -- [runs, 7 by default]
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import mongoose from 'mongoose';
import { cpuOf, rssOf, stopProcess } from './support/processes.js';
import { freePort } from '../scripts/support/free-port.js';

const POLL_MS = 5;
const IDLE_MS = 2_000;

const runs = Number(process.argv[2] ?? 7);
const folder = mkdtempSync(join(tmpdir(), 'ready-'));
const databases = { 'the embedded database': { MONGODB_URI: '' } };
const uri = process.env.MONGODB_URI && new URL(process.env.MONGODB_URI);
if (uri) {
  uri.pathname = `/bench_${randomBytes(6).toString('hex')}`;
  databases['a MongoDB'] = { MONGODB_URI: uri.href };
}
const results = Object.fromEntries(Object.keys(databases).map((name) => [name, []]));
try {
  for (const env of Object.values(databases)) await measure(env);
  for (let run = 0; run < runs; run++) {
    for (const [name, env] of Object.entries(databases)) results[name].push(await measure(env));
  }
} finally {
  rmSync(folder, { recursive: true });
  if (uri) await dropDatabase(uri.href);
}
for (const [name, measured] of Object.entries(results)) {
  console.log(
    `On ${name}: ready after ${spread(measured, 'ready', 'ms')}; CPU ${spread(measured, 'cpu', 'ms')}; ` +
      `resident when idle ${spread(measured, 'rss', 'MiB')}`,
  );
}

async function measure(env) {
  const port = await freePort();
  const variables = { ...process.env, ...env, NODE_ENV: 'development', PORT: String(port), DATA_DIR: folder };
  const begun = performance.now();
  const child = spawn(process.execPath, ['dist/bundle/main.js'], { env: variables, stdio: 'ignore' });
  while (!(await isReady(port))) await pause(POLL_MS);
  const [ready, cpu] = [performance.now() - begun, cpuOf(child)];
  await pause(IDLE_MS);
  const rss = rssOf(child);
  await stopProcess(child);
  return { ready, cpu, rss };
}

async function isReady(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
  return answer?.status === 200;
}

/** Text such as `612 ms (590 to 700)`, median first. */
function spread(measured, figure, unit) {
  const sorted = measured.map((one) => one[figure]).sort((a, b) => a - b);
  if (sorted.includes(undefined)) return 'unknown';
  const [median, least, greatest] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map(Math.round);
  return `${median} ${unit} (${least} to ${greatest})`;
}

async function dropDatabase(address) {
  const client = new mongoose.mongo.MongoClient(address);
  await client.db().dropDatabase();
  await client.close();
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
