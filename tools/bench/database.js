import { existsSync } from 'node:fs';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { startProcess, stopProcess, untilReady } from '../../scripts/support/processes.js';
import { cpuOf } from '../support/usage.js';

/** As durable as the service, which sets this itself. */
const DURABLE = 'w=majority&journal=true';
/** Number of lines per import. Unit: records. */
const BATCH = 10_000;

/** The database of both servers: the MongoDB of an installation, or its embedded database in a process of its own. */
export async function openDatabase(installation) {
  let server;
  let { uri } = installation;
  if (uri) uri += `${uri.includes('?') ? '&' : '?'}${DURABLE}`;
  else {
    // The service finds the server that serves its folder.
    const dir = join(installation.folder, 'mongodb');
    const args = ['libs/embedded-mongodb/dist/cli.js', '--dir', dir];
    server = startProcess(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    uri = `mongodb://${encodeURIComponent(join(dir, 'run/mongodb.sock'))}/posts-and-todos`;
    await untilReady(server, async () => existsSync(join(dir, 'run/mongodb.sock')));
  }
  const client = await new mongoose.mongo.MongoClient(uri).connect();
  const todos = client.db().collection('todos');
  const admin = client.db('admin');
  return {
    name: server ? 'the embedded database' : `MongoDB ${(await admin.command({ buildInfo: 1 })).version}`,
    uri,
    todos,
    /** CPU time so far. Unit: milliseconds. */
    async cpuMs() {
      if (server) return cpuOf(server);
      const { extra_info: used } = await admin.command({ serverStatus: 1 });
      return (Number(used.user_time_us) + Number(used.system_time_us)) / 1_000;
    },
    /** Stores todos through the service, as it stores them, and resolves with their identifiers. */
    async fill(url, count) {
      for (let from = 0; from < count; from += BATCH) {
        const length = Math.min(BATCH, count - from);
        const lines = Array.from({ length }, (_, n) => JSON.stringify(seededTodo(from + n)));
        const headers = { 'Content-Type': 'application/x-ndjson' };
        const answer = await fetch(`${url}/todos/import`, {
          method: 'POST',
          headers,
          body: lines.join('\n'),
        });
        await answer.text();
      }
      const ids = await todos.find({}, { projection: { _id: 1 } }).toArray();
      if (ids.length !== count) throw new Error(`The import stored ${ids.length} of ${count} todos`);
      return ids.map(({ _id }) => _id.toHexString());
    },
    async close() {
      await client.close();
      if (server) await stopProcess(server);
    },
  };
}

function seededTodo(i) {
  return {
    title: `Water the plants ${i}`,
    ...(i % 2 === 0 && { description: 'Those on the balcony, too.' }),
    completed: i % 3 === 0,
    ...(i % 4 === 0 && { dueAt: new Date(Date.UTC(2030, 0, 1) + i * 60_000).toISOString() }),
  };
}
