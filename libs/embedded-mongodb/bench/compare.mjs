/**
 * What everyday requests cost through Mongoose, on the embedded server and on a real one:
 * `REFERENCE_MONGODB_URI=mongodb://… node bench/compare.mjs [documents, 100000 by default]`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import mongoose from 'mongoose';
import { startEmbeddedMongodb } from '../dist/index.js';

const documents = Number(process.argv[2] ?? 100_000);
const concurrency = 32;
const teams = 100;

const schema = new mongoose.Schema(
  { team: Number, title: String, body: String, tags: [String], done: Boolean },
  { timestamps: true, autoIndex: false, autoCreate: false, collection: 'bench' },
);
schema.index({ team: 1, createdAt: -1 });

const make = (i) => ({
  team: i % teams,
  title: `Task ${i}`,
  body: 'text '.repeat(40),
  tags: ['a', 'b'],
  done: false,
});
const team = () => Math.floor(Math.random() * teams);
const take = (ids) => ids.splice(Math.floor(Math.random() * ids.length), 1)[0];
const any = (ids) => ids[Math.floor(Math.random() * ids.length)];

/** One kind of request: how often it is timed, and what it does. */
const requests = {
  create: { times: 1_000, run: ({ Task }, i) => Task.create(make(i)) },
  'get by id': { times: 1_000, run: ({ Task, ids }) => Task.findById(any(ids)) },
  'newest 20 by an index': {
    times: 500,
    run: ({ Task }) => Task.find({ team: team() }).sort({ createdAt: -1 }).limit(20),
  },
  'update by id': {
    times: 1_000,
    run: ({ Task, ids }, i) => Task.updateOne({ _id: any(ids) }, { title: `New ${i}` }),
  },
  'delete by id': { times: 1_000, run: ({ Task, ids }) => Task.deleteOne({ _id: take(ids) }) },
  'indexed count': { times: 200, run: ({ Task }) => Task.countDocuments({ team: team() }) },
  [`${concurrency} concurrent inserts`]: {
    times: 100,
    run: ({ Task }, i) => Promise.all(Array.from({ length: concurrency }, () => Task.create(make(i)))),
  },
};

async function prepare(uri) {
  const connection = await mongoose.createConnection(uri, { dbName: 'embedded_bench' }).asPromise();
  await connection.dropDatabase();
  const Task = connection.model('Task', schema);
  await Task.createCollection();
  await Task.createIndexes();
  const ids = [];
  for (let start = 0; start < documents; start += 1_000) {
    const size = Math.min(1_000, documents - start);
    const batch = Array.from({ length: size }, (_, i) => ({
      ...make(start + i),
      _id: new mongoose.Types.ObjectId(),
      createdAt: new Date(1.7e12 + start + i),
    }));
    await Task.collection.insertMany(batch);
    ids.push(...batch.map(({ _id }) => _id));
  }
  return { connection, Task, ids };
}

/** Time of one request, the median of all. Unit: milliseconds. */
async function measure(context, { times, run }) {
  for (let i = 0; i < 30; i++) await run(context, i);
  const durations = [];
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    await run(context, i);
    durations.push(performance.now() - start);
  }
  return durations.sort((a, b) => a - b)[times >> 1];
}

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
const server = await startEmbeddedMongodb({ dir });
const embedded = await prepare(server.uri);
const reference = process.env.REFERENCE_MONGODB_URI && (await prepare(process.env.REFERENCE_MONGODB_URI));
try {
  const table = {};
  for (const [name, request] of Object.entries(requests)) {
    const mine = await measure(embedded, request);
    const real = reference && (await measure(reference, request));
    table[name] = { 'embedded (ms)': mine.toFixed(2) };
    if (real) Object.assign(table[name], { 'real (ms)': real.toFixed(2), ratio: (mine / real).toFixed(2) });
  }
  console.log(`${documents} documents, median of each request:`);
  console.table(table);
} finally {
  await reference?.connection.dropDatabase();
  await Promise.all([embedded, reference].map((each) => each?.connection.close()));
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
