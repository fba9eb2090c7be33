import { once } from 'node:events';
import { createServer } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { requestOf } from '../support/connection.js';
import { Installation, tenantOf } from '../support/installation.js';
import { closedLoop, quantile } from '../support/load.js';
import { CONTAINER_HEAP, ownMemoryOf } from '../support/usage.js';

const TENANTS = 100;
/** As many as a tenant may have. */
const SUBSCRIPTIONS = 100;
/** Number of clients of the one tenant that floods. */
const CLIENTS = 16;
/** How often another tenant creates a post. Unit: milliseconds. */
const EVERY_MS = 500;
const MAX_P99_MS = 2_000;
const MAX_MIB = 400;
/** How long the last deliveries may take. Unit: milliseconds. */
const LAST_MS = 30_000;

/** Each post of a tenant goes to its 100 subscriptions. One tenant floods; the deliveries of the others must not wait. */
export default async function deliveries({ short, begin }) {
  const [tenants, ms] = short ? [10, 3_000] : [TENANTS, 60_000];
  const installation = new Installation({ env: { ...process.env, ...CONTAINER_HEAP } });
  const onMongodb = Boolean(installation.uri);
  const receiver = new Receiver();
  try {
    const service = await installation.startService(onMongodb ? 'off' : 'inline');
    const worker = onMongodb ? await installation.startWorker() : service;
    begin(`${tenants} tenants with ${SUBSCRIPTIONS} subscriptions each`);
    const url = await receiver.listen();
    await Promise.all(
      Array.from({ length: tenants }, async (_, tenant) => {
        for (let n = 0; n < SUBSCRIPTIONS; n++) await installation.subscribe(tenantOf(tenant), url);
      }),
    );
    begin('a tenant that floods');
    const postAs = (tenant, title) =>
      requestOf('POST', '/posts/api', { token: installation.token(tenantOf(tenant)), body: { title } });
    const flood = postAs(0, 'flood');
    const over = closedLoop(installation.url, { clients: CLIENTS, ms, requestOf: () => flood });
    const [before, begun] = [receiver.arrived, performance.now()];
    let [posts, most] = [0, 0];
    while (performance.now() - begun < ms) {
      const title = `timed ${performance.now()}`;
      await installation.post('/posts/api', tenantOf(1 + (posts++ % (tenants - 1))), { title });
      most = Math.max(most, ownMemoryOf(worker));
      await pause(EVERY_MS);
    }
    const perSecond = ((receiver.arrived - before) * 1_000) / (performance.now() - begun);
    const { served, refused } = await over;
    begin('the last deliveries');
    const expected = posts * SUBSCRIPTIONS;
    const deadline = performance.now() + LAST_MS;
    while (receiver.times.length < expected && performance.now() < deadline) await pause(100);
    const [p50, p99] = [0.5, 0.99].map((share) => quantile(receiver.times, share));
    const missing = expected - receiver.times.length;
    const failures = [];
    if (missing > 0) failures.push(`${missing} deliveries of others have not arrived`);
    if (!short && p99 > MAX_P99_MS) failures.push(`others wait longer than ${MAX_P99_MS} ms`);
    if (most > MAX_MIB) failures.push(`more than ${MAX_MIB} MiB`);
    const figures = {
      flood: `${served.length} posts, ${refused.length} refused`,
      all: `${perSecond.toFixed(0)} deliveries a second; ${most.toFixed(0)} MiB`,
      others: `${receiver.times.length} deliveries, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms after the request`,
    };
    begin('end');
    return { figures, failures };
  } finally {
    receiver.server.close().closeAllConnections();
    await installation.remove();
  }
}

/** Answers each delivery at once, and measures those whose title has a time. */
class Receiver {
  arrived = 0;
  times = [];
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    response.writeHead(204).end();
    this.arrived++;
    const [, sent] = /timed ([\d.]+)/.exec(text) ?? [];
    if (sent) this.times.push(performance.now() - Number(sent));
  });

  async listen() {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${this.server.address().port}/`;
  }
}
