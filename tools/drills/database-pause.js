import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { requestOf } from '../support/connection.js';
import { Installation, tenantOf } from '../support/installation.js';
import { closedLoop, oddOf, quantile } from '../support/load.js';
import { Mongod } from '../support/mongod.js';
import { rssOf } from '../support/usage.js';

const CLIENTS = 100;
const THINK_MS = 200;
const MAX_ANSWER_MS = 5_000;
const MAX_GROWTH_MIB = 64;
/** How long after the pause requests may still fail. Unit: milliseconds. */
const RESUMED_MS = 2_000;

/** Pauses the database for a while, with its connections open, while clients read, create and ask for readiness. */
export default async function databasePause({ short, begin }) {
  if (!Mongod.available)
    return { figures: { skipped: 'there is no mongod; set MONGOD to the path of one' }, failures: [] };
  const [pauseMs, warmUpMs] = short ? [6_000, 5_000] : [30_000, 20_000];
  const mongod = new Mongod();
  await mongod.start();
  const installation = new Installation({ uri: mongod.uri });
  try {
    const service = await installation.startService('off');
    const token = installation.token(tenantOf(1));
    const requests = [
      requestOf('GET', '/todos?limit=5'),
      requestOf('POST', '/posts/api', { token, body: { title: 'Release notes' } }),
      requestOf('GET', '/health/ready'),
    ];
    let sent = 0;
    const load = (ms) =>
      closedLoop(installation.url, {
        clients: CLIENTS,
        ms,
        thinkMs: THINK_MS,
        requestOf: () => requests[sent++ % requests.length],
      });
    begin('warming up');
    await load(warmUpMs);
    const before = rssOf(service);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, rssOf(service))), 100);
    begin('the database stands still');
    mongod.signal('SIGSTOP');
    const during = load(pauseMs);
    await pause(pauseMs);
    mongod.signal('SIGCONT');
    const resumed = performance.now();
    begin('the database goes on');
    const paused = await during;
    await pause(Math.max(0, resumed + RESUMED_MS - performance.now()));
    const later = await load(warmUpMs);
    clearInterval(watch);
    begin('end');
    const times = [...paused.served, ...paused.refused, ...later.served];
    const slowest = Math.max(...times);
    const odd = [paused, later].flatMap(oddOf);
    const failures = [];
    if (!short && slowest > MAX_ANSWER_MS) failures.push(`an answer took longer than ${MAX_ANSWER_MS} ms`);
    if (most - before > MAX_GROWTH_MIB) failures.push(`memory grew by more than ${MAX_GROWTH_MIB} MiB`);
    if (later.refused.length > 0) failures.push('errors later than 2 s after the database went on');
    if (odd.length > 0) failures.push(`neither served nor refused: ${odd.join(', ')}`);
    return {
      figures: {
        'while the database stood still': `${paused.served.length} served, ${paused.refused.length} refused, p50 ${quantile(paused.refused, 0.5).toFixed(0)} ms`,
        'slowest answer': `${slowest.toFixed(0)} ms`,
        memory: `+${(most - before).toFixed(0)} MiB at most`,
        'from 2 s after it went on': `${later.served.length} served, ${later.refused.length} refused`,
      },
      failures,
    };
  } finally {
    mongod.signal('SIGCONT');
    await installation.remove().finally(() => mongod.remove());
  }
}
