/**
 * Measures how fast todos are created one by one, in bulk and by import, and the CPU time and memory that
 * each takes: starts the built service on its own database and prints records per second, the CPU time of the
 * service per record, and its RSS. Linux only (/proc).
 *
 *   MONGODB_URI=mongodb://127.0.0.1:27017 node bench/bulk.js [records to import …]
 */
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { Installation } from '../scripts/support/installation.js';
import { cpuOf, watchMemory } from '../scripts/support/usage.js';

const SINGLES = 3_000;
const BULKS = 60;
const OPERATIONS = 1_000;
/** A first run of each kind is not counted, so that the code is already compiled. */
const WARM_UP = 0.2;

const sizes = process.argv.slice(2).map(Number);
if (!process.env.MONGODB_URI || sizes.some((size) => !(size > 0))) {
  console.error('Usage: MONGODB_URI=… node bench/bulk.js [records to import …]');
  process.exit(1);
}
const todo = (i) => ({
  title: `Todo ${i}`,
  description: 'Those on the balcony, too, and the ones in the hall.',
  completed: i % 2 === 0,
});

const installation = new Installation();
const service = await installation.startService('inline');
try {
  await report('POST /todos, 1 connection', (share) => singles(SINGLES * share, 1));
  await report('POST /todos, 64 connections', (share) => singles(SINGLES * share, 64));
  await report(`POST /todos/bulk, ${OPERATIONS} creates each`, (share) => bulks(BULKS * share));
  for (const size of sizes.length > 0 ? sizes : [1_000, 100_000, 1_000_000]) {
    await report(`POST /todos/import, ${size} lines`, (share) => (share < 1 ? 0 : importLines(size)));
  }
} finally {
  await installation.remove();
}

async function report(name, run) {
  await run(WARM_UP);
  const memory = watchMemory(service);
  const [begun, worked] = [performance.now(), cpuOf(service)];
  const records = await run(1);
  const seconds = (performance.now() - begun) / 1_000;
  const perRecord = `${Math.round(((cpuOf(service) - worked) * 1_000) / records)} µs of CPU each`;
  console.log(
    `${name}: ${Math.round(records / seconds)} records/s (${seconds.toFixed(1)} s), ${perRecord}, RSS ${memory.end()}`,
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
