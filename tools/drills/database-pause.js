import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection, requestOf } from '../support/connection.js';
import { Installation, tenantOf } from '../support/installation.js';
import { quantile } from '../support/load.js';
import { Mongod } from '../support/mongod.js';
import { rssOf } from '../support/usage.js';

const MAX_ANSWER_MS = 5_000;
const MAX_GROWTH_MIB = 64;
/** How long after the pause requests may still fail. Unit: milliseconds. */
const RESUMED_MS = 2_000;
/** How long the service runs normally after the pause. Unit: milliseconds. */
const AFTER_MS = 5_000;

/**
 * Pauses the database for a while, with its connections open, while requests arrive at a constant rate. The short form does
 * not compare times, which depend on the machine.
 */
export default async function databasePause({ short, begin }) {
  if (!Mongod.available)
    return { figures: { skipped: 'there is no mongod; set MONGOD to the path of one' }, failures: [] };
  const [rate, pauseMs, warmUpMs] = short ? [200, 6_000, 5_000] : [500, 30_000, 20_000];
  const mongod = new Mongod();
  await mongod.start();
  const installation = new Installation({ uri: mongod.uri });
  const failures = [];
  let figures;
  try {
    const service = await installation.startService('off');
    const load = new OpenLoop(installation, rate);
    begin('warming up');
    // Warms up, so that memory that the code and the pool need permanently does not count as growth.
    load.begin();
    await pause(warmUpMs);
    const before = rssOf(service);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, rssOf(service))), 100);
    begin('the database stands still');
    const stopped = performance.now();
    mongod.signal('SIGSTOP');
    await pause(pauseMs);
    mongod.signal('SIGCONT');
    begin('the database goes on');
    const resumed = performance.now();
    await pause(AFTER_MS);
    await load.end();
    clearInterval(watch);
    const during = load.answers.filter(({ at }) => at >= stopped && at < resumed);
    const later = load.answers.filter(({ at, status }) => at >= resumed + RESUMED_MS && !(status < 400));
    const slowest = Math.max(...load.answers.map(({ ms }) => ms));
    figures = {
      'requests a second': rate,
      'answers while the database stood still': `${during.length}, p50 ${quantile(timesOf(during), 0.5).toFixed(0)} ms`,
      'slowest answer': `${slowest.toFixed(0)} ms`,
      memory: `+${(most - before).toFixed(0)} MiB at most`,
      'errors from 2 s after it went on': later.length,
      'requests without an answer': load.broken,
    };
    if (!short && slowest > MAX_ANSWER_MS) failures.push(`an answer took longer than ${MAX_ANSWER_MS} ms`);
    if (most - before > MAX_GROWTH_MIB) failures.push(`memory grew by more than ${MAX_GROWTH_MIB} MiB`);
    if (later.length > 0) failures.push(`errors later than 2 s after the database went on`);
    if (load.broken > 0) failures.push(`${load.broken} requests without an answer`);
    begin('end');
  } finally {
    mongod.signal('SIGCONT');
    await installation.remove().finally(() => mongod.remove());
  }
  return { figures, failures };
}

const timesOf = (answers) => answers.map(({ ms }) => ms);

/** Sends requests at a constant rate, however long the answers take: reads, creates and the readiness in turn. */
class OpenLoop {
  answers = [];
  broken = 0;
  idle = [];
  pending = new Set();
  sent = 0;

  constructor(installation, rate) {
    const token = installation.token(tenantOf(1));
    this.url = installation.url;
    this.rate = rate;
    this.requests = [
      requestOf('GET', '/todos?limit=5'),
      requestOf('POST', '/posts/api', { token, body: { title: 'Release notes' } }),
      requestOf('GET', '/health/ready'),
    ];
  }

  begin() {
    const begun = performance.now();
    this.timer = setInterval(() => {
      const due = ((performance.now() - begun) * this.rate) / 1_000;
      while (this.sent < due) this.send();
    }, 5);
  }

  async end() {
    clearInterval(this.timer);
    await Promise.all(this.pending);
    for (const connection of this.idle) connection.close();
  }

  send() {
    const connection = this.idle.pop() ?? new Connection(this.url);
    const at = performance.now();
    const answered = connection.send(this.requests[this.sent++ % this.requests.length]).then(
      ({ status, ms }) => {
        this.answers.push({ at, status, ms });
        this.idle.push(connection);
      },
      () => (this.broken += 1),
    );
    this.pending.add(answered);
    void answered.then(() => this.pending.delete(answered));
  }
}
