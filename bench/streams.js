/**
 * Measures the cost of live streams. Starts the built service, opens idle clients of `GET /events`, and
 * prints the memory that each takes in the service and how long an event takes from its append to all of
 * them. Another process than the service makes the append, as any other process of an installation may. Linux
 * only (/proc).
 *
 *   node bench/streams.js [clients, 1000 by default] [events, 50 by default]
 *
 * It runs on the embedded database, in memory, or on MONGODB_URI, where it uses its own database and removes
 * it.
 */
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { startEmbeddedMongodb } from 'embedded-mongodb';
import { Installation, tenantOf } from '../scripts/support/installation.js';
import { killProcess } from '../scripts/support/processes.js';
import { rssOf } from '../scripts/support/usage.js';

const TENANT = tenantOf(1);
const OPENED_AT_A_TIME = 50;

const [clients = 1_000, events = 50] = process.argv.slice(2).map(Number);
const embedded = process.env.MONGODB_URI ? undefined : await startEmbeddedMongodb({ memory: true });
const installation = new Installation({ uri: embedded?.uri });
const database = installation.client.db();
const service = await installation.startService('inline');
try {
  await append(1);
  const before = rssOf(service);
  const streams = [];
  const begun = performance.now();
  for (let done = 0; done < clients; done += OPENED_AT_A_TIME) {
    const some = Math.min(OPENED_AT_A_TIME, clients - done);
    streams.push(...(await Promise.all(Array.from({ length: some }, open))));
  }
  const seconds = (performance.now() - begun) / 1_000;
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const after = rssOf(service);
  console.log(`${clients} clients opened in ${seconds.toFixed(1)} s`);
  console.log(
    `resident memory: ${before.toFixed(0)} MiB before, ${after.toFixed(0)} MiB with them; ${(((after - before) * 1_024) / clients).toFixed(1)} KiB per client`,
  );
  const times = [];
  for (let seq = 2; seq < 2 + events; seq++) {
    const told = streams.map((stream) => stream.until(seq));
    const started = performance.now();
    await append(seq);
    const each = await Promise.all(told);
    times.push({ first: Math.min(...each) - started, last: Math.max(...each) - started });
  }
  for (const which of ['first', 'last']) {
    const sorted = times.map((time) => time[which]).sort((a, b) => a - b);
    const at = (share) =>
      `${sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)].toFixed(0)} ms`;
    console.log(`append to the ${which} client: median ${at(0.5)}, 95 % ${at(0.95)}, worst ${at(1)}`);
  }
  console.log(`resident memory at the end: ${rssOf(service).toFixed(0)} MiB`);
} finally {
  await killProcess(service);
  await installation.remove();
  await embedded?.stop();
}

function append(seq) {
  const _id = `evt_${seq.toString(16).padStart(24, '0')}`;
  const at = new Date();
  const data = { _id: _id.slice(4), title: `Post ${seq}`, tenant: TENANT, createdAt: at, updatedAt: at };
  const body = JSON.stringify({ type: 'posts.created', timestamp: at, data });
  return database
    .collection('events')
    .insertOne({ _id, seq, tenant: TENANT, type: 'posts.created', at, body });
}

/** One client: a socket that waits for an event. */
async function open() {
  const socket = connect(installation.port, '127.0.0.1').setEncoding('latin1');
  socket.write(
    `GET /events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${installation.token(TENANT)}\r\n\r\n`,
  );
  let text = '';
  let look = () => undefined;
  let cutOff = () => undefined;
  const found = (wanted) =>
    new Promise((resolve, reject) => {
      cutOff = () => reject(new Error('The service cut a client off.'));
      look = () => {
        if (!text.includes(wanted)) return;
        text = '';
        resolve(performance.now());
      };
      look();
    });
  socket.on('data', (part) => {
    text += part;
    look();
  });
  socket.on('error', () => undefined).on('close', () => cutOff());
  await found(': connected');
  return { until: (seq) => found(`id: evt_${seq.toString(16).padStart(24, '0')}\n`) };
}
