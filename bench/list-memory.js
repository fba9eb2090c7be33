/**
 * Measures the memory that GET /todos needs, and its speed: fills its own database with records, starts the
 * built service on it, reads the whole list and prints the process's peak RSS. Linux only (/proc).
 *
 *   MONGODB_URI=mongodb://127.0.0.1:27017 node bench/list-memory.js [records …]
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import mongoose from 'mongoose';

const BATCH = 10_000;
const MIB = 1_048_576;

const sizes = process.argv.slice(2).map(Number);
const base = process.env.MONGODB_URI;
if (!base || sizes.some((size) => !(size > 0))) {
  console.error('Usage: MONGODB_URI=… node bench/list-memory.js [records …]');
  process.exit(1);
}
for (const form of ['generated', 'handwritten']) {
  for (const size of sizes.length > 0 ? sizes : [100_000, 1_000_000]) await measure(form, size);
}

async function measure(form, size) {
  const uri = new URL(base);
  uri.pathname = `/bench_${randomBytes(6).toString('hex')}`;
  const client = new mongoose.mongo.MongoClient(uri.href);
  const service = await start(uri.href, form);
  try {
    await fill(client.db().collection('todos'), size);
    await fetch(`${service.url}/todos?limit=1`);
    const before = rss(service.pid, 'VmRSS');
    // 5 resets the peak (proc_pid_clear_refs(5)).
    writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
    const started = performance.now();
    const bytes = await read(`${service.url}/todos`);
    const seconds = (performance.now() - started) / 1000;
    console.log(
      [
        form,
        `${size} records`,
        `${(bytes / MIB).toFixed(0)} MiB`,
        `${seconds.toFixed(1)} s`,
        `${Math.round(size / seconds)} records/s`,
        `RSS ${before.toFixed(0)} MiB before, ${rss(service.pid, 'VmHWM').toFixed(0)} MiB at its peak`,
      ].join('; '),
    );
  } finally {
    service.stop();
    await client.db().dropDatabase();
    await client.close();
  }
}

function start(uri, form) {
  const child = spawn(process.execPath, ['dist/bundle/main.js'], {
    env: { ...process.env, MONGODB_URI: uri, PORT: '0', HOST: '127.0.0.1', TODOS_API: form },
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

async function fill(collection, size) {
  const now = Date.now();
  for (let done = 0; done < size; done += BATCH) {
    const todos = Array.from({ length: Math.min(BATCH, size - done) }, (_, i) => ({
      title: `Todo ${done + i}`,
      description: 'Those on the balcony, too, and the ones in the hall.',
      completed: i % 2 === 0,
      createdAt: new Date(now + done + i),
      updatedAt: new Date(now + done + i),
      __v: 0,
    }));
    await collection.insertMany(todos);
  }
}

async function read(url) {
  let bytes = 0;
  for await (const chunk of (await fetch(url)).body) bytes += chunk.length;
  return bytes;
}

function rss(pid, field) {
  const kibibytes = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) / 1024;
}
