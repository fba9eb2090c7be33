import { Agent } from 'node:http';
import { performance } from 'node:perf_hooks';

/** Sends creates over a number of connections, and returns the time of each. Unit: milliseconds. */
export async function timesOfCreates(installation, tenant, count, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times = [];
  let begun = 0;
  const work = async () => {
    while (begun++ < count) {
      const started = performance.now();
      await installation.post('/posts/api', tenant, { title: 'Release notes', content: 'News.' }, agent);
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  agent.destroy();
  return times;
}

/** Text such as `p50 12 ms, p99 80 ms`. */
export function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)]?.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms`;
}
