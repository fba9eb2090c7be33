import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { closedLoop, oddOf, quantile } from './support/closed-loop.js';
import { Connection, requestOf } from './support/connection.js';

/** Number of clients at which a process is known to serve the most requests. */
const PEAK_CLIENTS = 64;
const MIN_SHARE_OF_PEAK = 0.8;
const MAX_SERVED_MS = 1_000;
const MAX_REFUSED_MS = 100;
/** How soon after the load a read must be fast again. Unit: milliseconds. */
const NORMAL_WITHIN_MS = 5_000;
const NORMAL_MS = 50;

/**
 * Far more clients than a process can serve: it serves nearly as many as ever, quickly, and rejects the
 * others at once. The short form does not compare times, which depend on the machine.
 */
export default async function overload({ short, begin }) {
  const [clients, ms, peakMs] = short ? [500, 3_000, 2_000] : [2_000, 60_000, 10_000];
  const installation = new Installation();
  const figures = {};
  const failures = [];
  try {
    await installation.startService('off');
    const { url } = installation;
    const token = installation.token(tenantOf(1));
    const { _id } = await installation.post('/posts/api', tenantOf(1), { title: 'Release notes' });
    const kinds = {
      get: requestOf('GET', `/posts/api/${_id}`),
      page: requestOf('GET', '/posts/api?limit=20', { token }),
      create: requestOf('POST', '/posts/api', { token, body: { title: 'Release notes', content: 'News.' } }),
    };
    for (const [kind, bytes] of Object.entries(kinds)) {
      const load = { requestOf: () => bytes };
      begin(`${kind} at the peak`);
      await closedLoop(url, { ...load, clients: PEAK_CLIENTS, ms: 1_000 });
      const peak = await closedLoop(url, { ...load, clients: PEAK_CLIENTS, ms: peakMs });
      begin(`${kind} of ${clients} clients`);
      const flood = await closedLoop(url, { ...load, clients, ms });
      begin(`${kind} after that`);
      const normalMs = await untilNormal(url, kinds.get);
      const [atPeak, atFlood] = [peak, flood].map(({ served, seconds }) => served.length / seconds);
      const served99 = quantile(flood.served, 0.99);
      const refused99 = quantile(flood.refused, 0.99);
      figures[kind] =
        `${atPeak.toFixed(0)}/s at ${PEAK_CLIENTS}; at ${clients}: ${atFlood.toFixed(0)}/s, served p99 ${served99.toFixed(0)} ms; ` +
        `${flood.refused.length} refused, p99 ${refused99.toFixed(0)} ms; normal after ${normalMs.toFixed(0)} ms`;
      if (!short && atFlood < MIN_SHARE_OF_PEAK * atPeak)
        failures.push(`${kind}: less than 80 % of the peak`);
      if (!short && served99 > MAX_SERVED_MS)
        failures.push(`${kind}: an accepted request took longer than 1 s (p99)`);
      if (!short && refused99 > MAX_REFUSED_MS)
        failures.push(`${kind}: a refusal took longer than 100 ms (p99)`);
      const odd = [peak, flood].flatMap(oddOf);
      if (odd.length > 0) failures.push(`${kind}: neither served nor refused: ${odd.join(', ')}`);
      if (normalMs > NORMAL_WITHIN_MS) failures.push(`${kind}: not normal within 5 s`);
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

/** How long it takes until a read is fast again. */
async function untilNormal(url, bytes) {
  const begun = performance.now();
  const connection = new Connection(url);
  try {
    while (performance.now() - begun < 2 * NORMAL_WITHIN_MS) {
      const { status, ms } = await connection.send(bytes);
      if (status === 200 && ms < NORMAL_MS) break;
      await pause(20);
    }
  } finally {
    connection.close();
  }
  return performance.now() - begun;
}
