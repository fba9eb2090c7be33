/**
 * Measures the memory that GET /todos needs, and its speed: fills its own database with records, starts the
 * built service on it, reads the whole list and prints the process's peak RSS. Linux only (/proc).
 *
 *   MONGODB_URI=mongodb://127.0.0.1:27017 node bench/list-memory.js [records …]
 */
import { performance } from 'node:perf_hooks';
import { Installation } from '../scripts/support/installation.js';
import { peakOf, resetPeak, rssOf } from '../scripts/support/usage.js';

const BATCH = 10_000;
const MIB = 1_048_576;

const sizes = process.argv.slice(2).map(Number);
if (!process.env.MONGODB_URI || sizes.some((size) => !(size > 0))) {
  console.error('Usage: MONGODB_URI=… node bench/list-memory.js [records …]');
  process.exit(1);
}
for (const form of ['generated', 'handwritten']) {
  for (const size of sizes.length > 0 ? sizes : [100_000, 1_000_000]) await measure(form, size);
}

async function measure(form, size) {
  const installation = new Installation();
  const service = await installation.startService('inline', { TODOS_API: form });
  try {
    await fill(installation.client.db().collection('todos'), size);
    await fetch(`${service.url}/todos?limit=1`);
    const before = rssOf(service);
    resetPeak(service);
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
        `RSS ${before.toFixed(0)} MiB before, ${peakOf(service).toFixed(0)} MiB at its peak`,
      ].join('; '),
    );
  } finally {
    await installation.remove();
  }
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
