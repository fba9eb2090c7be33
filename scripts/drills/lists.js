import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation } from '../support/installation.js';
import { rssOf } from '../support/usage.js';
import { metered } from './support/meter.js';
import { normalClients, quantile, told } from './support/normal-client.js';
import { openSockets } from './support/sockets.js';
import { storeTodos } from './support/todos.js';

const MAX_GET_MS = 50;
const MAX_CONNECTION_MS = 200;
/** On a busy machine, times are compared with those of the service without this load. */
const MAX_TIMES_ALONE = 3;
/** When stalled readers must have been disconnected. Unit: milliseconds. */
const CUT_OFF_MS = 75_000;

/** Whole lists that are read at full speed, or not at all, beside normal clients. */
export default async function lists({ short, begin }) {
  const installation = new Installation();
  const service = await installation.startService('off');
  const { url } = installation;
  const figures = {};
  const failures = [];
  const ms = short ? 5_000 : 20_000;
  try {
    const todo = url + (await storeTodos(url, short ? 10_000 : 30_000, 'x'.repeat(500)));
    begin('normal clients alone');
    await normalClients(todo, 2_000);
    const alone = await normalClients(todo, ms);
    figures.alone = told(alone);
    const check = (name, seen) => {
      figures[name] = told(seen);
      for (const [kind, target] of [
        ['gets', MAX_GET_MS],
        ['connections', MAX_CONNECTION_MS],
      ]) {
        const [p99, limit] = [
          quantile(seen[kind], 0.99),
          Math.max(target, MAX_TIMES_ALONE * quantile(alone[kind], 0.99)),
        ];
        if (p99 > limit)
          failures.push(`${name}: p99 of ${kind} is ${p99.toFixed(0)} ms, more than ${limit.toFixed(0)} ms`);
      }
      if (seen.failed > 0) failures.push(`${name}: ${seen.failed} requests failed`);
    };

    begin('beside 50 readers');
    const readers = new Readers(`${url}/todos`, 50);
    const beside = await metered(service, () => normalClients(todo, ms));
    begin('until the lists have been read');
    await readers.stop();
    check('beside 50 readers', beside.result);
    figures['lists read meanwhile'] = `${readers.whole} whole, ${readers.refused} refused`;
    figures['memory of them'] = `+${beside.grownMiB.toFixed(0)} MiB`;
    if (readers.whole === 0) failures.push('no list was read');

    begin('beside stalled readers');
    const request = 'GET /todos HTTP/1.1\r\nHost: drill\r\n\r\n';
    const stalled = await openSockets(url, short ? 200 : 1_000, request);
    for (const socket of stalled) socket.pause();
    check(`beside ${stalled.length} stalled readers`, await normalClients(todo, ms));
    figures['memory with stalled readers'] = `${rssOf(service).toFixed(0)} MiB`;
    if (!short) {
      begin('until stalled readers are cut off');
      await pause(CUT_OFF_MS - ms);
      // A disconnected one is refused when it sends.
      for (const socket of stalled) socket.resume();
      await pause(2_000);
      const left = stalled.filter(({ isOpen }) => isOpen).length;
      figures['stalled readers left'] = left;
      if (left > 0) failures.push(`${left} stalled readers are not cut off`);
    }
    for (const socket of stalled) socket.destroy();
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

/** Clients that read a list repeatedly, and wait a second if they are rejected. */
class Readers {
  whole = 0;
  refused = 0;
  isStopped = false;

  constructor(url, count) {
    this.reading = Promise.all(Array.from({ length: count }, () => this.read(url)));
  }

  /** Resolves when the started lists have ended; on a busy machine, none may have ended before. */
  async stop() {
    this.isStopped = true;
    await this.reading;
  }

  async read(url) {
    while (!this.isStopped) {
      const status = await new Promise((resolve) => {
        const sent = request(url, { agent: false }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode));
          answer.on('error', () => resolve(0));
        });
        sent.on('error', () => resolve(0)).end();
      });
      if (status === 200) this.whole += 1;
      else {
        this.refused += 1;
        await pause(1_000);
      }
    }
  }
}
