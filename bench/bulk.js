/**
 * Measures how fast todos are created one by one, in bulk and by import, and the CPU time and memory that
 * each takes: starts the built service on its own database and prints records per second, the CPU time of the
 * service per record, and its RSS. Linux only (/proc).
 *
 *   MONGODB_URI=mongodb://127.0.0.1:27017 npm run bench:bulk [records to import …]
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { clearInterval, setInterval } from 'node:timers';
import mongoose from 'mongoose';

const MIB = 1_048_576;
/** Unit of times in /proc. Unit: microseconds. */
const CLOCK_TICK = 10_000;
const SINGLES = 3_000;
const BULKS = 60;
const OPERATIONS = 1_000;
/** A first run of each kind is not counted, so that the code is already compiled. */
const WARM_UP = 0.2;

const sizes = process.argv.slice(2).map(Number);
const base = process.env.MONGODB_URI;
if (!base || sizes.some((size) => !(size > 0))) {
  console.error('Usage: MONGODB_URI=… npm run bench:bulk [records to import …]');
  process.exit(1);
}
const todo = (i) => ({
  title: `Todo ${i}`,
  description: 'Those on the balcony, too, and the ones in the hall.',
  completed: i % 2 === 0,
});

const uri = new URL(base);
uri.pathname = `/bench_${randomBytes(6).toString('hex')}`;
const client = new mongoose.mongo.MongoClient(uri.href);
const service = await start(uri.href);
try {
  await report('POST /todos, 1 connection', (share) => singles(SINGLES * share, 1));
  await report('POST /todos, 64 connections', (share) => singles(SINGLES * share, 64));
  await report(`POST /todos/bulk, ${OPERATIONS} creates each`, (share) => bulks(BULKS * share));
  for (const size of sizes.length > 0 ? sizes : [1_000, 100_000, 1_000_000]) {
    await report(`POST /todos/import, ${size} lines`, (share) => (share < 1 ? 0 : importLines(size)));
  }
} finally {
  service.stop();
  await client.db().dropDatabase();
  await client.close();
}

async function report(name, run) {
  await run(WARM_UP);
  const watch = watchMemory();
  const [begun, worked] = [performance.now(), cpu()];
  const records = await run(1);
  const seconds = (performance.now() - begun) / 1_000;
  const { lowest, highest } = watch.end();
  const perRecord = `${Math.round((cpu() - worked) / records)} µs of CPU each`;
  const memory = `RSS ${lowest.toFixed(0)} to ${highest.toFixed(0)} MiB`;
  console.log(
    `${name}: ${Math.round(records / seconds)} records/s (${seconds.toFixed(1)} s), ${perRecord}, ${memory}`,
  );
}

async function singles(count, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let next = 0;
  const work = async () => {
    while (next < count) {
      const { statusCode } = await send('/todos', 'application/json', JSON.stringify(todo(next++)), agent);
      if (statusCode !== 201) throw new Error(`POST /todos answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  agent.destroy();
  return count;
}

async function bulks(count) {
  const agent = new Agent({ keepAlive: true });
  for (let n = 0; n < count; n++) {
    const operations = Array.from({ length: OPERATIONS }, (_, i) => ({ create: todo(i) }));
    const { text } = await send('/todos/bulk', 'application/json', JSON.stringify({ operations }), agent);
    const created = JSON.parse(text).results.filter(({ status }) => status === 201).length;
    if (created !== OPERATIONS) throw new Error(`A bulk created ${created} records: ${text.slice(0, 300)}`);
  }
  agent.destroy();
  return count * OPERATIONS;
}

async function importLines(count) {
  function* chunks() {
    for (let i = 0; i < count; i += 100) {
      const lines = Array.from({ length: Math.min(100, count - i) }, (_, n) => JSON.stringify(todo(i + n)));
      yield `${lines.join('\n')}\n`;
    }
  }
  let created = 0;
  const answer = await open('/todos/import', 'application/x-ndjson', Readable.from(chunks()));
  for await (const line of createInterface({ input: answer }))
    created += Number(line.includes('"status":201'));
  if (created !== count) throw new Error(`An import of ${count} lines created ${created} records`);
  return count;
}

function open(path, contentType, body, agent) {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: { 'Content-Type': contentType } };
    const sent = request(service.url + path, options, resolve).on('error', reject);
    if (typeof body === 'string') sent.end(body);
    else body.pipe(sent);
  });
}

async function send(path, contentType, body, agent) {
  const answer = await open(path, contentType, body, agent);
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { statusCode: answer.statusCode, text };
}

function watchMemory() {
  let [lowest, highest] = [Infinity, 0];
  const look = () => {
    const now = rss();
    [lowest, highest] = [Math.min(lowest, now), Math.max(highest, now)];
  };
  look();
  const timer = setInterval(look, 50);
  return {
    end() {
      clearInterval(timer);
      look();
      return { lowest, highest };
    },
  };
}

function rss() {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1];
  return (Number(kibibytes) * 1_024) / MIB;
}

/** CPU time of the service, including its compiler and garbage collector. Unit: microseconds. */
function cpu() {
  const fields = readFileSync(`/proc/${service.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK;
}

function start(uri) {
  const args = process.env.PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.PROFILE}`] : [];
  const child = spawn(process.execPath, [...args, 'dist/bundle/main.js'], {
    env: { ...process.env, MONGODB_URI: uri, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('The service does not start; build it first: npm run build')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /Listening on (http:\S+?);/.exec(line)?.[1];
      if (url) resolve({ url, pid: child.pid, stop: () => child.kill() });
    });
  });
}
