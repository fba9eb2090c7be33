/** How long a start takes with many documents present: `node bench/start.mjs [documents, 1000000 by default]`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { MongoClient } from 'mongodb';
import { startEmbeddedMongodb } from '../dist/index.js';

const documents = Number(process.argv[2] ?? 1_000_000);
const dir = mkdtempSync(join(tmpdir(), 'bench-'));

async function fill() {
  const server = await startEmbeddedMongodb({ dir });
  const client = new MongoClient(server.uri);
  const collection = client.db('bench').collection('items');
  await collection.createIndex({ team: 1, n: -1 });
  for (let start = 0; start < documents; start += 10_000) {
    const batch = Array.from({ length: 10_000 }, (_, i) => ({
      n: start + i,
      team: i % 100,
      text: 'text '.repeat(20),
    }));
    await collection.insertMany(batch);
  }
  await client.close();
  await server.stop();
}

/** Time from the call to the first answer. Unit: milliseconds. */
async function start() {
  const before = performance.now();
  const server = await startEmbeddedMongodb({ dir });
  const started = performance.now() - before;
  const client = new MongoClient(server.uri);
  await client.db('bench').collection('items').findOne({ team: 5 });
  const answered = performance.now() - before;
  await client.close();
  await server.stop();
  return { 'started (ms)': Math.round(started), 'first answer (ms)': Math.round(answered) };
}

try {
  await fill();
  console.log(`${documents} documents:`);
  console.table([await start(), await start(), await start()]);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
