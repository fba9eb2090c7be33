/**
 * Compares the service with others over one database, side by side: see the README.md in this folder.
 *
 *   npm run bench -- [--repeats 5] [--seconds 3] [--connections 1,8,64] [--peers handwritten,service] [--operations get,list]
 *     [--todos 100000] [--output bench/compare/results]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopProcess } from '../../scripts/support/processes.js';
import { rssOf } from '../../scripts/support/usage.js';
import { Database } from './database.js';
import { checkEquivalence } from './equivalence.js';
import { OPERATIONS } from './operations.js';
import { readOptions } from './options.js';
import { PEERS } from './peers.js';
import { writeReport } from './report.js';
import { startPeer } from './server.js';

/** Share of a measurement that runs before it without being measured. */
const WARM_UP_SHARE = 0.3;
/** How long a started server is left alone before its memory is read. Unit: milliseconds. */
const SETTLE_MS = 1_500;

const options = readOptions();
const database = await Database.open();
const load = fork(join(dirname(fileURLToPath(import.meta.url)), 'load.js'));
const servers = [];
try {
  const ids = await fill();
  const memory = await startAll();
  for (const server of servers) await checkEquivalence(server, PEERS[server.name].api, database, ids);
  console.error('All peers give equivalent answers');
  const cells = [];
  for (const operation of options.operations) await warmUp(operation, ids);
  for (const operation of options.operations) {
    for (const connections of options.connections) {
      cells.push({ operation, connections, runs: await measureCell(operation, connections, ids) });
    }
  }
  for (const { name, child } of servers) memory[name].loaded = rssOf(child);
  writeReport({ options, database: database.name, cells, memory });
} finally {
  load.kill();
  for (const { child } of servers) await stopProcess(child);
  await database.close();
}

/**
 * The service creates the collection and indexes, and stores the todos. Then it is restarted, like the
 * others.
 */
async function fill() {
  const service = await startPeer('service', database);
  try {
    console.error(`Storing ${options.todos} todos in ${database.name}`);
    return await database.fill(service.url, options.todos);
  } finally {
    await stopProcess(service.child);
  }
}

/** Resolves with the resident memory of each server before its first request. */
async function startAll() {
  const memory = {};
  for (const name of options.peers) {
    const server = await startPeer(name, database);
    servers.push(server);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    memory[name] = { fresh: rssOf(server.child) };
  }
  return memory;
}

async function warmUp(operation, ids) {
  for (const server of servers) await measure(server, operation, Math.max(...options.connections), ids);
}

/** All repeats of one cell. The servers take turns, each time in another order. */
async function measureCell(operation, connections, ids) {
  const runs = Object.fromEntries(servers.map(({ name }) => [name, []]));
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    const shift = repeat % servers.length;
    for (const server of [...servers.slice(shift), ...servers.slice(0, shift)]) {
      runs[server.name].push(await measure(server, operation, connections, ids));
    }
    console.error(`${operation}, ${connections} connections: ${repeat + 1} of ${options.repeats}`);
  }
  return runs;
}

async function measure({ name, url, child }, operation, connections, ids) {
  const { requests, status } = OPERATIONS[operation];
  load.send({
    url,
    requests: requests(PEERS[name].api, new URL(url).host, ids),
    status,
    connections,
    warmUpMs: options.seconds * 1_000 * WARM_UP_SHARE,
    measuredMs: options.seconds * 1_000,
    watched: { server: child.pid, ...(database.pid !== undefined && { database: database.pid }) },
  });
  const [{ result, error }] = await once(load, 'message');
  if (error) throw new Error(`${name}, ${operation}: ${error}`);
  if (operation === 'create') await database.removeCreated();
  return result;
}
