/**
 * The load generator, a separate process. It takes one order at a time: what to send, over how many
 * connections, for how long, and which processes to watch meanwhile.
 */
import { performance } from 'node:perf_hooks';
import { cpuOf } from '../../scripts/support/usage.js';
import { Connection } from './http-client.js';

/** How much longer a measurement runs each time it has too few answers. Unit: milliseconds. */
const LONGER_MS = 50;

process.on('message', (order) => {
  measure(order).then(
    (result) => process.send({ result }),
    (error) => process.send({ error: error.message }),
  );
});

async function measure({ url, requests, status, connections, warmUpMs, measuredMs, watched }) {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(new URL(url))));
  const latencies = [];
  let next = 0;
  let measuring = false;
  let stopped = false;
  const work = async (connection) => {
    while (!stopped) {
      const request = requests[next++ % requests.length];
      const sent = performance.now();
      const answer = await connection.send(request);
      if (answer.status !== status) throw new Error(`answered ${answer.status}: ${answer.body}`);
      if (measuring) latencies.push(performance.now() - sent);
    }
  };
  const working = Promise.all(open.map(work));
  try {
    await Promise.race([working, pause(warmUpMs)]);
    const before = figures(watched);
    const begun = performance.now();
    measuring = true;
    await Promise.race([working, pause(measuredMs)]);
    // A slow server is measured for longer: less than one answer per connection is not significant.
    while (latencies.length < connections) await Promise.race([working, pause(LONGER_MS)]);
    measuring = false;
    const seconds = (performance.now() - begun) / 1_000;
    const after = figures(watched);
    stopped = true;
    await working;
    return summary(latencies, seconds, before, after);
  } finally {
    for (const connection of open) connection.close();
  }
}

/** CPU time of each watched process and of this one. Unit: milliseconds. */
function figures(watched) {
  const { user, system } = process.cpuUsage();
  const client = (user + system) / 1_000;
  return {
    client,
    ...Object.fromEntries(Object.entries(watched).map(([name, pid]) => [name, cpuOf({ pid })])),
  };
}

/** Times in milliseconds, CPU in microseconds per request; undefined if the system does not provide it. */
function summary(latencies, seconds, before, after) {
  const requests = latencies.length;
  const sorted = Float64Array.from(latencies).sort();
  const at = (share) => sorted[Math.min(Math.floor(requests * share), requests - 1)];
  const cpu = (name) =>
    after[name] === undefined || before[name] === undefined
      ? undefined
      : ((after[name] - before[name]) * 1_000) / requests;
  return {
    requests,
    throughput: requests / seconds,
    p50: at(0.5),
    p99: at(0.99),
    serverCpu: cpu('server'),
    databaseCpu: cpu('database'),
    clientCpu: cpu('client'),
  };
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
