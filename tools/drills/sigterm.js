import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { stopProcess } from '../../scripts/support/processes.js';
import { Installation, tenantOf } from '../support/installation.js';

const CLIENTS = 200;
const MAX_END_MS = 10_000;
const MAX_IDLE_END_MS = 3_000;
/** Maximum time that clients are busy before the signal, once each has been served. Unit: milliseconds. */
const BUSY_MS = 500;

/**
 * Stops the service repeatedly while clients wait for answers; each client continues until nobody is
 * listening. Then stops a worker. The short form does not compare times, which depend on the machine.
 */
export default async function sigterm({ short, begin }) {
  const rounds = short ? 2 : 100;
  const installation = new Installation();
  const totals = { answered: 0, refused: 0, broken: {}, errors: {}, slowest: 0 };
  const failures = [];
  let idleMs;
  let worker;
  try {
    for (let round = 0; round < rounds; round++) {
      const dropped = Object.values(totals.broken).reduce((sum, times) => sum + times, 0);
      begin(`signal ${round + 1} of ${rounds}; ${totals.answered} answered and ${dropped} dropped so far`);
      const service = await installation.startService('inline');
      const clients = Array.from({ length: CLIENTS }, (_, i) => new Client(installation, i, totals));
      const over = clients.map((client) => client.useUntilRefused());
      await Promise.all(clients.map((client) => client.served));
      await pause(Math.random() * BUSY_MS);
      const [ended] = await Promise.all([endOf(service), ...over]);
      if (ended.code !== 0) failures.push(`round ${round}: the exit code is ${ended.code}`);
      totals.slowest = Math.max(totals.slowest, ended.ms);
    }
    begin('a signal with nothing in flight');
    idleMs = (await endOf(await installation.startService('inline'))).ms;
    begin('a signal to a worker');
    worker = await endOf(await installation.startWorker());
  } finally {
    await installation.remove();
  }
  const broken = Object.entries(totals.broken).map(([code, times]) => `${times} ${code}`);
  const refused = Object.entries(totals.errors).map(([error, times]) => `${times} times ${error}`);
  if (broken.length > 0) failures.push(`not answered: ${broken.join(', ')}`);
  if (refused.length > 0) failures.push(`answered with an error: ${refused.join(', ')}`);
  if (worker.code !== 0) failures.push(`the exit code of the worker is ${worker.code}`);
  if (!short && Math.max(totals.slowest, worker.ms) > MAX_END_MS)
    failures.push(`an end took longer than ${MAX_END_MS} ms`);
  if (!short && idleMs > MAX_IDLE_END_MS)
    failures.push(`an end without requests took longer than ${MAX_IDLE_END_MS} ms`);
  return {
    figures: {
      'signals, each with 200 requests in flight': rounds,
      'requests answered': totals.answered,
      'of these told to try again later': totals.refused,
      'requests dropped or reset': broken.join(', ') || 0,
      'slowest end': `${totals.slowest.toFixed(0)} ms`,
      'end with nothing in flight': `${idleMs.toFixed(0)} ms`,
      'end of a worker': `${worker.ms.toFixed(0)} ms`,
    },
    failures,
  };
}

class Client {
  /** Resolves with the first answer. */
  served = new Promise((resolve) => (this.onServed = resolve));

  constructor(installation, number, totals) {
    this.url = installation.url;
    this.token = installation.token(tenantOf(number));
    /** One connection, kept as long as the server keeps it. */
    this.agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.writes = number % 2 === 0;
    this.totals = totals;
  }

  async useUntilRefused() {
    const { totals } = this;
    try {
      for (;;) {
        const { status, text, headers } = await this.send();
        totals.answered++;
        this.onServed();
        if (headers['retry-after']) {
          totals.refused++;
          await pause(Number(headers['retry-after']) * 1_000);
          continue;
        }
        const error = status >= 400 && `${status} ${JSON.parse(text).code}`;
        if (error) totals.errors[error] = (totals.errors[error] ?? 0) + 1;
      }
    } catch ({ code }) {
      // Nobody is listening any more: the client would go elsewhere.
      if (code !== 'ECONNREFUSED') totals.broken[code] = (totals.broken[code] ?? 0) + 1;
    } finally {
      this.onServed();
      this.agent.destroy();
    }
  }

  async send() {
    const [method, path] = this.writes ? ['POST', '/posts/api'] : ['GET', '/todos?limit=10'];
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' };
    const sent = request(this.url + path, { method, agent: this.agent, headers });
    sent.end(this.writes ? JSON.stringify({ title: 'Release notes' }) : undefined);
    const [answer] = await once(sent, 'response');
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    return { status: answer.statusCode, headers: answer.headers, text };
  }
}

async function endOf(service) {
  const begun = performance.now();
  const code = await stopProcess(service);
  return { code, ms: performance.now() - begun };
}
