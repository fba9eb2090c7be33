import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { startServer, stopProcess } from '../../scripts/support/processes.js';
import { processWith } from '../../scripts/support/usage.js';
import { CREATED } from './operations.js';

const EMBEDDED = 'libs/embedded-mongodb/dist/cli.js';
const DURABLE = { w: 'majority', journal: 'true' };
/** Number of lines per import. Unit: records. */
const BATCH = 10_000;

/**
 * The database that all peers share: a separate one on MONGODB_URI, or the embedded database in its own
 * process.
 */
export class Database {
  folder = mkdtempSync(join(tmpdir(), 'bench-'));

  /** Opens the database. */
  static async open() {
    const database = new Database();
    await (process.env.MONGODB_URI ? database.#useMongodb() : database.#startEmbedded());
    await database.client.connect();
    database.todos = database.client.db().collection('todos');
    return database;
  }

  async #useMongodb() {
    const uri = new URL(process.env.MONGODB_URI);
    uri.pathname = `/bench_${randomBytes(6).toString('hex')}`;
    this.serviceEnv = { MONGODB_URI: uri.href };
    // As durable as the service, which sets this itself.
    for (const [name, value] of Object.entries(DURABLE)) uri.searchParams.set(name, value);
    this.peerUri = uri.href;
    this.client = new mongoose.mongo.MongoClient(this.peerUri);
    const admin = this.client.db('admin');
    const { version } = await admin.command({ buildInfo: 1 });
    const { argv } = await admin.command({ getCmdLineOpts: 1 });
    this.name = `MongoDB ${version}`;
    this.pid = processWith(argv.slice(1));
  }

  async #startEmbedded() {
    const dir = join(this.folder, 'mongodb');
    const { child, said } = await startServer([EMBEDDED, '--dir', dir], process.env, /^(mongodb:\S+)/);
    this.process = child;
    this.pid = child.pid;
    this.name = 'the embedded database';
    // The service finds the server that serves the folder.
    this.serviceEnv = { MONGODB_URI: '' };
    this.peerUri = `${said}posts-and-todos`;
    this.client = new mongoose.mongo.MongoClient(this.peerUri);
  }

  /** Fills the database through the service, so that the records are stored as the service stores them. */
  async fill(url, count) {
    for (let from = 0; from < count; from += BATCH) {
      const length = Math.min(BATCH, count - from);
      const lines = Array.from({ length }, (_, n) => JSON.stringify(seededTodo(from + n)));
      const answer = await fetch(`${url}/todos/import`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-ndjson' },
        body: lines.join('\n'),
      });
      await answer.text();
    }
    const ids = await this.todos.find({}, { projection: { _id: 1 } }).toArray();
    if (ids.length !== count) throw new Error(`The import stored ${ids.length} of ${count} todos`);
    return ids.map(({ _id }) => _id.toHexString());
  }

  /** Removes the records that a measurement has created. */
  async removeCreated() {
    await this.todos.deleteMany({ title: CREATED });
  }

  async close() {
    if (!this.process) await this.client.db().dropDatabase();
    await this.client.close();
    if (this.process) await stopProcess(this.process);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function seededTodo(i) {
  return {
    title: `Water the plants ${i}`,
    ...(i % 2 === 0 && { description: 'Those on the balcony, too.' }),
    completed: i % 3 === 0,
    ...(i % 4 === 0 && { dueAt: new Date(Date.UTC(2030, 0, 1) + i * 60_000).toISOString() }),
  };
}
