import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** How long a request may take before it counts as failed. Unit: milliseconds. */
const LIMIT_MS = 10_000;

/** Maximum number of requests that each normal client sends per second. */
const PER_SECOND = 50;

/**
 * Measures a service as normal clients see it, in a separate thread, so that other work of the drill does not
 * delay them: 4 clients that keep their connections, and one that opens a new one for each request.
 *
 * @returns times of gets and of gets over new connections (unit: milliseconds), and the number of failures
 */
export async function normalClients(url, ms) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, ms } });
  const [seen] = await once(worker, 'message');
  return seen;
}

/** The time that a given share of requests stays below. Unit: milliseconds. */
export function quantile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Infinity;
}

/** Text such as `get p50 4 ms, p99 12 ms; new connection p99 20 ms; 0 of 900 failed`. */
export function told({ gets, connections, failed }) {
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(gets, share).toFixed(1));
  const sent = gets.length + connections.length + failed;
  return `get p50 ${p50} ms, p99 ${p99} ms; new connection p99 ${quantile(connections, 0.99).toFixed(1)} ms; ${failed} of ${sent} failed`;
}

if (!isMainThread && workerData?.url) parentPort.postMessage(await measure(workerData));

async function measure({ url, ms }) {
  const seen = { gets: [], connections: [], failed: 0 };
  const end = performance.now() + ms;
  const kept = new Agent({ keepAlive: true });
  const client = async (agent, times) => {
    while (performance.now() < end) {
      const started = performance.now();
      try {
        await get(url, agent);
        times.push(performance.now() - started);
      } catch {
        seen.failed += 1;
      }
      await pause(Math.max(0, 1_000 / PER_SECOND - (performance.now() - started)));
    }
  };
  await Promise.all([
    ...Array.from({ length: 4 }, () => client(kept, seen.gets)),
    client(new Agent({ keepAlive: false }), seen.connections),
  ]);
  kept.destroy();
  return seen;
}

async function get(url, agent) {
  const sent = request(url, { agent, timeout: LIMIT_MS }).end();
  sent.on('timeout', () => sent.destroy());
  const [answer] = await once(sent, 'response');
  answer.resume();
  await once(answer, 'end');
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}`);
}
