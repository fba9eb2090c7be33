import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation } from '../support/installation.js';
import { rssOf } from '../support/usage.js';
import { closedLoop } from './support/closed-loop.js';
import { requestOf } from './support/connection.js';
import { normalClients, quantile, told } from './support/normal-client.js';

/** How much longer others may wait beside imports than beside as many clients that create records one by one. */
const MAX_RATIO = 3;
const MAX_RSS_MIB = 400;
const LINE = `${JSON.stringify({ title: 'Water the plants', description: 'Those on the balcony, too.' })}\n`;
const CHUNK = LINE.repeat(200);
const HEAD =
  'POST /todos/import HTTP/1.1\r\nHost: drill\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n';
const PART = `${CHUNK.length.toString(16)}\r\n${CHUNK}\r\n`;
const CREATE = requestOf('POST', '/todos', { body: { title: 'Water the plants' } });

/** Imports from one address, beside clients that read a record, and probes. */
export default async function imports({ short, begin }) {
  const installation = new Installation();
  const service = await installation.startService('off');
  const { url } = installation;
  const figures = {};
  const failures = [];
  const ms = short ? 3_000 : 10_000;
  try {
    const { _id } = await installation.post('/todos', '665f1c2ab7e3a90d00000001', { title: 'Read me' });
    const beside = async (load) => {
      const over = load();
      await pause(500);
      const [todo, live] = await Promise.all(
        [`/todos/${_id}`, '/health/live'].map((path) => normalClients(url + path, ms)),
      );
      return { todo, live, over: await over };
    };
    begin('warming up');
    await closedLoop(url, { clients: 16, ms: 2_000, requestOf: () => CREATE });
    for (const count of short ? [16] : [16, 64, 300]) {
      begin(`beside ${count} clients that create`);
      const creates = await beside(() =>
        closedLoop(url, { clients: count, ms: ms + 1_000, requestOf: () => CREATE }),
      );
      begin(`beside ${count} imports`);
      const floods = await beside(() => imported(url, count, ms + 1_000));
      const rss = rssOf(service);
      figures[`beside ${count} clients that create`] = told(creates.todo);
      figures[`beside ${count} imports`] =
        `${told(floods.todo)}; ${rss.toFixed(0)} MiB; answers ${floods.over}`;
      figures[`liveness beside ${count} imports`] = told(floods.live);
      const [before, after] = [creates, floods].map(({ todo }) => quantile(todo.gets, 0.5));
      if (!short && after > MAX_RATIO * before)
        failures.push(`${count} imports: the others' median is more than ${MAX_RATIO} times as long`);
      if (floods.todo.failed + floods.live.failed > 0) failures.push(`${count} imports: others were refused`);
      if (rss > MAX_RSS_MIB) failures.push(`${count} imports: more than ${MAX_RSS_MIB} MiB`);
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

/** Sends imports for a while, each again a second after it is refused; how often each status came. */
async function imported(url, count, ms) {
  const end = performance.now() + ms;
  const seen = {};
  const one = async () => {
    while (performance.now() < end) {
      const status = await importLines(url, end);
      seen[status] = (seen[status] ?? 0) + 1;
      await pause(Math.max(0, Math.min(1_000, end - performance.now())));
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return JSON.stringify(seen);
}

/** Sends lines until a time as fast as they are read, or until they are refused; resolves with the status. */
function importLines(url, end) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const timer = setTimeout(() => socket.destroy(), end - performance.now());
    let status;
    const send = () => {
      while (!socket.destroyed && socket.write(PART));
    };
    socket.on('connect', () => socket.write(HEAD) && send());
    socket.on('drain', send).on('error', () => undefined);
    socket.on('data', (bytes) => {
      status ??= Number(bytes.toString('latin1').slice(9, 12));
      if (status >= 400) socket.destroy();
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(status);
    });
  });
}
