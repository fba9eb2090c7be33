import { Buffer } from 'node:buffer';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { bystanders } from '../support/bystanders.js';
import { requestOf } from '../support/connection.js';
import { Installation, tenantOf } from '../support/installation.js';
import { closedLoop, oddOf, quantile } from '../support/load.js';
import { CONTAINER_HEAP, ownMemoryOf } from '../support/usage.js';

/** How much longer others may wait beside an attack than beside as many clients that create records. */
const MAX_RATIO = 3;
const MAX_MIB = 400;
const MOST_CREATING = 64;
/** For the short form: a machine that is busy with other work is no overload. */
const LENIENT = { MAX_EVENT_LOOP_DELAY_MS: '0', MAX_WAIT_MS: '4000' };
/** How long an attacker waits before it connects again. Unit: milliseconds. */
const AGAIN_MS = 250;

const JSON_TYPE = 'Content-Type: application/json\r\n';
const NDJSON_TYPE = 'Content-Type: application/x-ndjson\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const LENGTH = 'Content-Length: 100000\r\n';
const LINES = `{ "title": "Water the plants", "description": "Those on the balcony." }\n`.repeat(200);
const LARGE = 'x'.repeat(65_536);
const ONE_BYTE = '1\r\n \r\n'.repeat(10_000);
const NESTED = `{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
const BOMB = gzipSync(Buffer.alloc(256 * 1_048_576, ' '));
const CREATE = requestOf('POST', '/todos', { body: { title: 'Water the plants' } });
const ATTACKERS = '127.0.0.2';

/**
 * What attackers send: a head, then a part again and again, without end or once in `everyMs`. Who is cut off connects
 * again; who leaves, after `leaveMs`, at once. Or a request made by `requestOf` after each answer.
 */
const ATTACKS = {
  imports: { count: 64, head: head('POST /todos/import', CHUNKED + NDJSON_TYPE), part: chunk(LINES) },
  'endless bodies': { count: 64, head: head('POST /todos', CHUNKED + JSON_TYPE), part: chunk(LARGE) },
  'bodies to no path': { count: 64, head: head('POST /nothing', CHUNKED), part: chunk(LARGE) },
  'chunks of a byte': { count: 16, head: head('POST /todos', CHUNKED + JSON_TYPE), part: ONE_BYTE },
  'gzip bombs': { count: 16, head: whole(BOMB, 'Content-Encoding: gzip\r\n') },
  'nested brackets': { count: 16, head: whole(NESTED) },
  'slow heads': { count: 1_000, head: 'GET /todos HTTP/1.1\r\n', part: 'X-Slow: x\r\n', everyMs: 1_000 },
  'slow bodies': { count: 1_000, head: head('POST /todos', LENGTH + JSON_TYPE), part: ' ', everyMs: 1_000 },
  'whole lists that nobody reads': { count: 200, head: head('GET /todos'), reads: false },
  'searches that are aborted': { count: 64, head: head('GET /todos?q=plants'), leaveMs: 15 },
  'bulks with new keys': { count: 64, requestOf: keyedBulk },
  'random words': { count: 64, requestOf: () => requestOf('GET', `/todos?title[contains]=${random()}`) },
  'pages of 1,000 clients': { count: 1_000, head: head('GET /todos?limit=100', 'Connection: close\r\n') },
};

/** Floods from another address than that of clients who read a record, which must be served nearly as before. */
export default async function floods({ short, begin }) {
  const installation = new Installation({ env: { ...process.env, ...CONTAINER_HEAP } });
  const service = await installation.startService('off', short ? LENIENT : {});
  const { url } = installation;
  const [ms, share] = short ? [3_000, 0.25] : [10_000, 1];
  const [figures, failures] = [{}, []];
  try {
    begin('records');
    const { _id } = await installation.post('/todos', tenantOf(1), { title: 'Read me' });
    const beside = async (load) => {
      const over = load();
      await pause(500);
      const seen = await bystanders(url, `/todos/${_id}`, ms);
      await over;
      return seen;
    };
    const creates = (clients) => () => closedLoop(url, { clients, ms: ms + 500, requestOf: () => CREATE });
    await creates(MOST_CREATING)();
    for (const [name, attack] of Object.entries(ATTACKS)) {
      const clients = Math.min(attack.count, MOST_CREATING);
      begin(`beside ${clients} clients that create`);
      const before = short ? undefined : quantile((await beside(creates(clients))).served, 0.5);
      begin(`beside ${name}`);
      let most = 0;
      const watch = setInterval(() => (most = Math.max(most, ownMemoryOf(service))), 100);
      const seen = await beside(() => flood(url, { ...attack, count: attack.count * share }, ms + 500));
      clearInterval(watch);
      const [p50, p99] = [0.5, 0.99].map((share) => quantile(seen.served, share));
      const refused = [...seen.refused.map(() => 'refused'), ...oddOf(seen)];
      figures[name] =
        `${seen.served.length} of others served, p50 ${p50.toFixed(1)} ms (beside creates ${before?.toFixed(1) ?? 'not measured'}), ` +
        `p99 ${p99.toFixed(0)} ms; ${most.toFixed(0)} MiB`;
      if (refused.length > 0)
        failures.push(`${name}: ${refused.length} requests of others failed: ${refused[0]}`);
      if (!short && p50 > MAX_RATIO * before)
        failures.push(`${name}: others wait more than ${MAX_RATIO} times as long`);
      if (most > MAX_MIB) failures.push(`${name}: more than ${MAX_MIB} MiB`);
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

/** Keeps a number of attackers connected for a while. */
async function flood(url, { count, ...attack }, ms) {
  const { requestOf } = attack;
  if (requestOf) return closedLoop(url, { clients: count, ms, requestOf, from: ATTACKERS });
  const end = performance.now() + ms;
  const attacker = async () => {
    while (performance.now() < end) {
      await attackOnce(url, attack, end);
      if (!attack.leaveMs) await pause(AGAIN_MS);
    }
  };
  await Promise.all(Array.from({ length: count }, attacker));
}

/** Attacks over one connection, until the service closes it or the time is over. */
function attackOnce(url, { head: first, part, everyMs, leaveMs, reads = true }, end) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: ATTACKERS });
  const over = setTimeout(() => socket.destroy(), end - performance.now());
  const send = () => {
    while (!socket.destroyed && socket.write(part));
  };
  const drip = everyMs && setInterval(() => socket.write(part), everyMs);
  socket.on('connect', () => {
    socket.write(first);
    if (leaveMs) setTimeout(() => socket.destroy(), leaveMs);
    if (!part || everyMs) return;
    socket.on('drain', send);
    send();
  });
  if (reads) socket.resume();
  socket.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.on('close', () => {
      clearTimeout(over);
      clearInterval(drip);
      resolve();
    });
  });
}

function keyedBulk() {
  const operations = Array(100).fill({ create: { title: 'Water the plants' } });
  return requestOf('POST', '/todos/bulk', { body: { operations }, key: random() });
}

const random = () => Math.random().toString(36).slice(2);

function head(target, headers = '') {
  return `${target} HTTP/1.1\r\nHost: drill\r\n${headers}\r\n`;
}

function whole(body, headers = '') {
  return Buffer.concat([
    Buffer.from(head('POST /todos', `${JSON_TYPE}${headers}Content-Length: ${body.length}\r\n`)),
    Buffer.from(body),
  ]);
}

function chunk(text) {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
