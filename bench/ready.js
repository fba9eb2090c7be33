/**
 * Measures how long a finished build takes from `node dist/bundle/main.js` until /health/ready answers 200,
 * the CPU time for that, and the resident memory after two seconds without requests (Linux only). Alternates
 * between the embedded database and MONGODB_URI, if it is set, with existing empty collections:
 *
 *   node bench/ready.js [runs, 7 by default]
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation } from '../scripts/support/installation.js';
import { stopProcess } from '../scripts/support/processes.js';
import { cpuOf, rssOf } from '../scripts/support/usage.js';

const POLL_MS = 5;
const IDLE_MS = 2_000;

const runs = Number(process.argv[2] ?? 7);
const installations = { 'the embedded database': new Installation({ uri: '' }) };
if (process.env.MONGODB_URI) installations['a MongoDB'] = new Installation();
const results = Object.fromEntries(Object.keys(installations).map((name) => [name, []]));
try {
  for (const installation of Object.values(installations)) await measure(installation);
  for (let run = 0; run < runs; run++) {
    for (const [name, installation] of Object.entries(installations))
      results[name].push(await measure(installation));
  }
} finally {
  for (const installation of Object.values(installations)) await installation.remove();
}
for (const [name, measured] of Object.entries(results)) {
  console.log(
    `On ${name}: ready after ${spread(measured, 'ready', 'ms')}; CPU ${spread(measured, 'cpu', 'ms')}; ` +
      `resident when idle ${spread(measured, 'rss', 'MiB')}`,
  );
}

async function measure(installation) {
  const begun = performance.now();
  const service = await installation.startService('inline', {}, { pollMs: POLL_MS });
  const [ready, cpu] = [performance.now() - begun, cpuOf(service)];
  await pause(IDLE_MS);
  const rss = rssOf(service);
  await stopProcess(service);
  return { ready, cpu, rss };
}

/** Text such as `612 ms (590 to 700)`, median first. */
function spread(measured, figure, unit) {
  const sorted = measured.map((one) => one[figure]).sort((a, b) => a - b);
  if (sorted.includes(undefined)) return 'unknown';
  const [median, least, greatest] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map(Math.round);
  return `${median} ${unit} (${least} to ${greatest})`;
}
