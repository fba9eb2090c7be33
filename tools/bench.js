import { arch, availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { fail, positive, readArguments } from '../scripts/support/arguments.js';
import { freePort, startProcess, stopProcess, untilReady } from '../scripts/support/processes.js';
import { openDatabase } from './bench/database.js';
import { checkEquivalence } from './bench/equivalence.js';
import { CREATED, OPERATIONS } from './bench/operations.js';
import { Installation } from './support/installation.js';
import { closedLoop, oddOf, quantile } from './support/load.js';
import { buildBundles } from '../scripts/build-if-missing.js';
import { cpuOf, rssOf } from './support/usage.js';

const USAGE = `Usage: npm run bench -- [options]

Compares the service with a hand-written server over one database: that of MONGODB_URI, or the embedded one. tools/README.md
says how it measures. For Linux; elsewhere, CPU and memory are unknown.

  --repeats 5             how often each figure is measured
  --seconds 3             how long each measurement takes, after a warm-up of 0.3 times that
  --connections 1,64      numbers of connections; each sends its next request after an answer
  --operations get,list   some of get, list, patch and create
  --todos 100000          number of todos in the database
  --enhanced              also the service in an application with a guard and an interceptor for all routes`;

const text = (value) => ({ type: 'string', default: value });
const { values } = readArguments(USAGE, {
  repeats: text('5'),
  seconds: text('3'),
  connections: text('1,64'),
  operations: text(Object.keys(OPERATIONS).join()),
  todos: text('100000'),
  enhanced: { type: 'boolean', default: false },
});
const repeats = positive('repeats', values.repeats, { integer: true });
const measuredMs = positive('seconds', values.seconds) * 1_000;
const connections = values.connections
  .split(',')
  .map((one) => positive('connections', one, { integer: true }));
const operations = values.operations.split(',');
const unknown = operations.find((name) => !Object.hasOwn(OPERATIONS, name));
if (unknown !== undefined)
  fail(`--operations takes some of ${Object.keys(OPERATIONS).join()}, not "${unknown}".`);
const todos = Math.max(100, positive('todos', values.todos, { integer: true }));

/** The defaults, except for a rate that only a load generator reaches. */
const SERVICE = { RATE_LIMIT_ADDRESS: '1000000000', LOG_LEVEL: 'info' };
/** Share of a measurement that runs before it without being measured. */
const WARM_UP = 0.3;
/** How long a started server is left alone before its memory is read. Unit: milliseconds. */
const SETTLE_MS = 1_500;
/** The figures with their units. A ratio below 1 is better, except for the throughput. */
const FIGURES = { p50: 'ms', p99: 'ms', throughput: '/s', serverCpu: 'µs', databaseCpu: 'µs' };

await buildBundles();
const installation = new Installation();
const database = await openDatabase(installation);
const servers = {};
try {
  const startService = (options) => installation.startService('inline', SERVICE, options);
  const service = await startService();
  console.error(`Storing ${todos} todos in ${database.name}`);
  const ids = await database.fill(service.url, todos);
  await stopProcess(service);
  const memory = {};
  const starts = {
    handwritten,
    service: () => startService(),
    ...(values.enhanced && {
      enhanced: () => startService({ port: undefined, program: ['tools/bench/enhanced.js'] }),
    }),
  };
  for (const [name, start] of Object.entries(starts)) {
    const begun = performance.now();
    servers[name] = await start();
    memory[name] = { readyMs: performance.now() - begun };
    await pause(SETTLE_MS);
    memory[name].fresh = rssOf(servers[name]);
  }
  for (const [name, { url }] of Object.entries(servers)) await checkEquivalence(name, url, database, ids);
  console.error('All give equivalent answers');
  const cells = [];
  for (const operation of operations) {
    for (const clients of connections) cells.push(await cellOf(operation, clients, ids));
  }
  for (const [name, server] of Object.entries(servers)) memory[name].loaded = rssOf(server);
  report(cells, memory);
} finally {
  if (servers.handwritten) await stopProcess(servers.handwritten);
  await database.close();
  await installation.remove();
}

async function handwritten() {
  const port = await freePort();
  const env = { ...process.env, NODE_ENV: 'production', PORT: String(port), MONGODB_URI: database.uri };
  const child = startProcess(process.execPath, ['tools/bench/handwritten.js'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, async () => (await fetch(`${url}/todos?limit=1`)).ok);
  return Object.assign(child, { url });
}

/** All repeats of an operation at a number of connections. The servers take turns, each time in another order. */
async function cellOf(operation, clients, ids) {
  const runs = Object.fromEntries(Object.keys(servers).map((name) => [name, []]));
  for (let repeat = -1; repeat < repeats; repeat++) {
    const names = repeat % 2 === 0 ? Object.keys(runs) : Object.keys(runs).reverse();
    for (const name of names) {
      const run = await measured(name, operation, clients, ids);
      // The first repeat only compiles the code.
      if (repeat >= 0) runs[name].push(run);
    }
    console.error(`${operation}, ${clients} connections: ${repeat + 1} of ${repeats}`);
  }
  return { operation, clients, runs };
}

async function measured(name, operation, clients, ids) {
  const server = servers[name];
  const requests = OPERATIONS[operation].requests(ids);
  let next = 0;
  const load = { clients, requestOf: () => requests[next++ % requests.length] };
  await closedLoop(server.url, { ...load, ms: measuredMs * WARM_UP });
  const cpu = async () => ({ server: cpuOf(server), database: await database.cpuMs() });
  const before = await cpu();
  const result = await closedLoop(server.url, { ...load, ms: measuredMs });
  const after = await cpu();
  const odd = [...result.refused.map(() => 'a refusal'), ...oddOf(result)];
  if (odd.length > 0) throw new Error(`${name}, ${operation}: ${odd[0]}`);
  if (operation === 'create') await database.todos.deleteMany({ title: CREATED });
  const { served, seconds } = result;
  const perRequest = (of) => ((after[of] - before[of]) * 1_000) / served.length;
  return {
    p50: quantile(served, 0.5),
    p99: quantile(served, 0.99),
    throughput: served.length / seconds,
    serverCpu: perRequest('server'),
    databaseCpu: perRequest('database'),
  };
}

/** Prints a table in Markdown: the median of the ratios in each repeat, their span, and the service's own median. */
function report(cells, memory) {
  const machine = `${cpus()[0]?.model}, ${availableParallelism()} cores, ${arch()}, Node.js ${process.version}`;
  const [names, units] = [Object.keys(FIGURES), Object.values(FIGURES)];
  console.log(`${database.name}, ${todos} todos; ${repeats} repeats of ${measuredMs / 1_000} s. ${machine}.`);
  console.log(`This service, as a multiple of the hand-written: median (span), and its own value.\n`);
  console.log(`| Operation | Connections | ${names.join(' | ')} |\n| ${'--- | '.repeat(names.length + 2)}`);
  for (const { operation, clients, runs } of cells) {
    const { handwritten, ...services } = runs;
    for (const [server, ownRuns] of Object.entries(services)) {
      const shown = names.map((name, i) => {
        const ratios = ownRuns.map((run, repeat) => run[name] / handwritten[repeat][name]);
        const [median, least, greatest] = [0.5, 0, 1].map((share) => digits(quantile(ratios, share)));
        const own = ownRuns.map((run) => run[name]);
        return `${median} (${least} to ${greatest}), ${digits(quantile(own, 0.5))} ${units[i]}`;
      });
      const title = server === 'service' ? OPERATIONS[operation].title : `The same, ${server}`;
      console.log(`| ${title} | ${clients} | ${shown.join(' | ')} |`);
    }
  }
  for (const [name, { readyMs, fresh, loaded }] of Object.entries(memory))
    console.log(
      `\n${name}: ready after ${digits(readyMs)} ms; ${digits(fresh)} MiB, ${digits(loaded)} after the load`,
    );
}

/** Three significant digits. */
function digits(value) {
  if (!Number.isFinite(value)) return 'unknown';
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
