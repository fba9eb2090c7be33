/**
 * Measures a large list. Fills its own database with todos, most of them with the driver and the rest through
 * `POST /todos/import`, starts the built service on it and prints for each read and write its time, its
 * records per second and the resident size of the process at the start, at the peak and at the end. Then asks
 * MongoDB how it carries out every declared order. Linux only (/proc).
 *
 *   MONGODB_URI=mongodb://127.0.0.1:27017 node bench/scale.js --records 1000000 [--imported 100000]
 */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { Installation } from '../scripts/support/installation.js';
import { rssOf, watchMemory } from '../scripts/support/usage.js';

const BATCH = 5_000;
const PAGES = 1_000;
const LIMIT = 100;
const ORDERS = ['-createdAt', 'createdAt', '-updatedAt', 'dueAt', 'title', '-title', 'completed,dueAt'];

const { values } = parseArgs({
  options: { records: { type: 'string' }, imported: { type: 'string' } },
});
const records = Number(values.records ?? 1_000_000);
const imported = Math.min(records, Number(values.imported ?? 100_000));
if (!process.env.MONGODB_URI || !(records > 0) || !(imported >= 0)) {
  console.error('Usage: MONGODB_URI=… node bench/scale.js --records 1000000 [--imported 100000]');
  process.exit(1);
}
const todo = (i) => ({
  title: `Todo ${i}`,
  description: i % 1_000 === 0 ? 'Those on the balcony, and the orchid.' : 'Those on the balcony, too.',
  completed: i % 2 === 0,
  ...(i % 3 === 0 && { dueAt: new Date(Date.UTC(2030, 0, 1) + i * 60_000) }),
});

/** Answers a message with the size of the heap after a full collection. Unit: MiB. */
const PROBE =
  'process.on("message",()=>{gc();process.send(process.memoryUsage().heapUsed/1048576)});process.channel.unref()';

const installation = new Installation();
const database = installation.client.db();
const todos = database.collection('todos');
const service = await installation.startService(
  'inline',
  {},
  {
    args: ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(PROBE)}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  },
);
try {
  await measure('Seeded with the driver', () => seed(records - imported));
  await measure(`POST /todos/import, first 1,000 lines`, () => importLines(0, Math.min(1_000, imported)));
  await measure(`POST /todos/import, the rest`, () => importLines(1_000, imported));
  await measure('POST /todos/bulk, 10 times 1,000 updates', () => bulkUpdates(10));
  for (const query of ['', '?completed=true&fields=title&sort=title']) {
    await measure(`GET /todos${query}`, () => stream(`/todos${query}`, 'application/json'));
    await measure(`GET /todos${query} as NDJSON`, () => stream(`/todos${query}`, 'application/x-ndjson'));
  }
  for (const order of ORDERS) await explain(order);
  for (const query of ['', '?completed=true', '?q=balcony', '?q=orchid']) {
    await measure(`GET /todos/count${query}`, () => json(`/todos/count${query}`).then(({ count }) => count));
  }
  await measure('GET /todos?q=orchid', () => stream('/todos?q=orchid', 'application/json'));
  for (const query of ['?q=balcony&limit=100', '?q=balcony&limit=100&count=none']) {
    await measure(`GET /todos${query}`, () => page(query));
  }
  for (const order of ORDERS) await measure(`Pages by ${order}`, () => walk(order));
  console.log(`JS heap after a full collection: ${(await heapUsed()).toFixed(0)} MiB`);
} finally {
  await installation.remove();
}

async function measure(name, run) {
  const before = rssOf(service);
  const memory = watchMemory(service);
  const begun = performance.now();
  try {
    const result = await run();
    const seconds = (performance.now() - begun) / 1_000;
    const { count, note = '' } = typeof result === 'object' ? result : { count: result };
    const sizes = [before, memory.end().highest, rssOf(service)].map((size) => size.toFixed(0));
    console.log(
      `| ${name} | ${count} | ${seconds.toFixed(2)} s | ${Math.round(count / seconds)}/s | ` +
        `${sizes.join(' / ')} MiB | ${note} |`,
    );
  } catch (error) {
    console.log(`| ${name} | failed: ${error.message} |`);
  } finally {
    memory.end();
  }
}

/** Records as the service stores them: a record made by the service shows where their words belong. */
async function seed(count) {
  const { storedWords, wordsOf } = await import('../dist/common/crud/search/search.js');
  await send('/todos', 'application/json', JSON.stringify(todo(0)));
  const { _words: pattern } = await todos.findOne();
  const [version] = Object.keys(pattern);
  const now = Date.now();
  for (let done = 0; done < count; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - done) }, (_, n) => {
      const at = new Date(now - (done + n) * 10);
      const record = todo(imported + done + n);
      const words = [record.title, record.description].map((text) => storedWords([wordsOf(text)]));
      return { ...record, _words: { [version]: words }, createdAt: at, updatedAt: at, __v: 0 };
    });
    await todos.insertMany(batch, { ordered: false });
  }
  return count;
}

async function importLines(from, to) {
  function* chunks() {
    for (let i = from; i < to; i += 100) {
      const lines = Array.from({ length: Math.min(100, to - i) }, (_, n) => JSON.stringify(todo(i + n)));
      yield `${lines.join('\n')}\n`;
    }
  }
  const body = Readable.toWeb(Readable.from(chunks()).map((text) => Buffer.from(text)));
  const answer = await send('/todos/import', 'application/x-ndjson', body);
  let created = 0;
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body) }))
    created += Number(line.includes('"status":201'));
  if (created !== Math.max(0, to - from)) throw new Error(`${created} of ${to - from} lines were imported`);
  return created;
}

async function bulkUpdates(times) {
  let updated = 0;
  for (let n = 0; n < times; n++) {
    const ids = await todos
      .find({}, { projection: { _id: 1 } })
      .skip(n * 1_000)
      .limit(1_000)
      .toArray();
    if (ids.length === 0) break;
    const operations = ids.map(({ _id }) => ({ update: { _id, changes: { completed: n % 2 === 0 } } }));
    const answer = await send('/todos/bulk', 'application/json', JSON.stringify({ operations }));
    updated += (await answer.json()).results.filter(({ status }) => status === 200).length;
  }
  return updated;
}

/** Reads a list to its end, and counts its records rather than its bytes. */
async function stream(path, accept) {
  const answer = await fetch(service.url + path, { headers: { Accept: accept } });
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}`);
  let [count, bytes] = [0, 0];
  const mark = Buffer.from('{"_id"');
  let rest = Buffer.alloc(0);
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    const text = Buffer.concat([rest, chunk]);
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) count += 1;
    // Shorter than the mark, which may be divided between two chunks.
    rest = text.subarray(1 - mark.length);
  }
  return { count, note: `${(bytes / 1_048_576).toFixed(0)} MiB` };
}

async function page(query) {
  return (await json(`/todos${query}`)).results.length;
}

/**
 * Walks forward with `after` to page 1,000 and back with `before`, and compares the times of the pages at
 * both ends.
 */
async function walk(order) {
  let count = 0;
  const times = [];
  const get = async (query) => {
    const begun = performance.now();
    const read = await json(`/todos?sort=${order}&limit=${LIMIT}&count=none${query}`);
    times.push(performance.now() - begun);
    count += read.results.length;
    return read;
  };
  let last = await get('');
  while (times.length < PAGES && last.next) last = await get(`&after=${last.next}`);
  const forth = times.length;
  while (times.length < 2 * forth - 1 && last.prev) last = await get(`&before=${last.prev}`);
  const median = (list) => list.sort((a, b) => a - b)[list.length >> 1].toFixed(1);
  const ends = `page 1: ${median(times.slice(1, 11))} ms, page ${forth}: ${median(times.slice(forth - 10, forth))} ms`;
  return { count, note: `${ends}, back: ${median(times.slice(forth, forth + 10))} ms` };
}

/** The plan of a page in the middle of an order, as the service asks for it. */
async function explain(order) {
  await database.command({ profile: 2 });
  const { next } = await json(`/todos?sort=${order}&limit=${LIMIT}`);
  await json(`/todos?sort=${order}&limit=${LIMIT}&after=${next}`);
  await database.command({ profile: 0 });
  const found = await database.collection('system.profile').find({ 'command.find': 'todos' }).toArray();
  const sums = found.map(({ keysExamined, docsExamined, nreturned, hasSortStage = false }) =>
    [keysExamined, docsExamined, nreturned, hasSortStage ? 'sorts in memory' : 'no sort'].join(' / '),
  );
  console.log(`| ${order} | keys / documents / results: ${sums.join('; ')} |`);
  await database.collection('system.profile').drop();
}

async function json(path) {
  const answer = await fetch(service.url + path);
  const body = await answer.json();
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${body.detail}`);
  return body;
}

function send(path, contentType, body) {
  const headers = { 'Content-Type': contentType };
  return fetch(service.url + path, { method: 'POST', headers, body, duplex: 'half' });
}

/** The heap of the service after a full collection. Unit: MiB. */
async function heapUsed() {
  service.send('heap');
  const [size] = await once(service, 'message');
  return size;
}
