/**
 * Measures the cost and speed of notifications. Starts the built service, its workers and receivers, and
 * prints the time from the answer of a create to its first delivery (`latency`), how fast a backlog is
 * processed (`backlog`), how long a create takes with and without subscriptions (`creates`), the effect of
 * hostile receivers on others and on the worker's memory (`hostile`), the effect of tenants with all their
 * subscriptions and many posts on another one (`flood`), and how many commands idle processes send (`idle`).
 * Linux only (/proc).
 *
 *   node bench/deliveries.js [latency backlog creates hostile flood idle, all by default]
 *
 * It runs on the embedded database, or on MONGODB_URI, where it uses its own database and removes it. Nobody
 * else may use that server meanwhile, since its commands are counted. PROFILE=folder writes a CPU profile of
 * each process.
 */
import { Agent } from 'node:http';
import { loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../scripts/support/installation.js';
import { cpuOf, rssOf, watchMemory } from '../scripts/support/usage.js';
import { percentiles, timesOfCreates } from './support/creates.js';
import { HOSTILE_KINDS, startGoodReceiver, startHostileReceivers } from './support/receivers.js';

const PER_MINUTE = 1_000;
const SECONDS = 60;
const BACKLOG = { tenants: 10, subscriptions: 20, posts: 100 };
const FLOOD = { subscriptions: 100, posts: 200, seconds: 30 };
const FLOODS = [
  { kind: 'answer', tenants: 1 },
  { kind: 'hang, but for one', tenants: 1 },
  { kind: 'hang, but for one', tenants: 8 },
  { kind: 'hang, but for one', tenants: 60 },
];
/** Time after which a delivery counts as missing. Unit: milliseconds. */
const PATIENCE_MS = 300_000;

const PARTS = { latency, backlog, creates, hostile, flood, idle };
const wanted = process.argv.slice(2).filter((arg) => arg in PARTS);
for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) {
  const load = loadavg()[0].toFixed(1);
  console.log(
    `${name}, on ${process.env.MONGODB_URI ? 'a MongoDB' : 'the embedded database'}, load average ${load}`,
  );
  await PARTS[name]();
}

async function latency() {
  for (const separate of [false, true]) {
    await withInstallation(separate ? 'off' : 'inline', async (installation) => {
      if (separate) await installation.startWorker();
      const stream = await startStream(installation, [tenantOf(1)]);
      await pause(SECONDS * 1_000);
      const { waits, times } = await stream.end();
      console.log(
        `  ${separate ? 'a worker process' : 'the inline worker'}, ${PER_MINUTE} creates a minute for ${SECONDS} s:`,
      );
      console.log(`    from the answer to the receiver: ${percentiles(waits)}`);
      console.log(`    a create: ${percentiles(times)}`);
    });
  }
}

async function backlog() {
  await withInstallation('off', async (installation, service) => {
    let received = 0;
    const receiver = await startGoodReceiver(() => received++);
    for (let tenant = 0; tenant < BACKLOG.tenants; tenant++)
      for (let n = 0; n < BACKLOG.subscriptions; n++)
        await installation.subscribe(tenantOf(tenant), `${receiver.url}/${n}`);
    for (let tenant = 0; tenant < BACKLOG.tenants; tenant++)
      await timesOfCreates(installation, tenantOf(tenant), BACKLOG.posts, 16);
    const total = BACKLOG.tenants * BACKLOG.subscriptions * BACKLOG.posts;
    // Let the service finish deferred work before the counting begins.
    await pause(5_000);
    const before = await installation.commands();
    const worker = await installation.startWorker();
    const begun = performance.now();
    const memory = watchMemory(worker);
    await until(() => received >= total);
    const seconds = (performance.now() - begun) / 1_000;
    const used = memory.end();
    console.log(`  ${received} deliveries in ${seconds.toFixed(1)} s: ${Math.round(total / seconds)}/s`);
    console.log(
      `  the worker: RSS ${used}, ${(cpuOf(worker) / total).toFixed(2)} ms of CPU a delivery; the API: RSS ${rssOf(service).toFixed(0)} MiB`,
    );
    reportCommands(before, await installation.commands(), total, 'a delivery');
    receiver.stop();
  });
}

async function creates() {
  for (const worker of ['off', 'inline']) {
    await withInstallation(worker, async (installation, service) => {
      const good = await startGoodReceiver(() => undefined);
      const hanging = await startHostileReceivers();
      const kinds = ['no subscription', '20 good ones', '20 that hang'];
      for (let n = 0; n < 20; n++) {
        await installation.subscribe(tenantOf(1), good.url);
        await installation.subscribe(
          tenantOf(2),
          `${hanging.url}/${HOSTILE_KINDS.indexOf('no answer')}?${n}`,
        );
      }
      for (const [connections, rounds, perRound] of [
        [1, 5, 40],
        [16, 5, 160],
      ]) {
        const times = kinds.map(() => []);
        const spent = kinds.map(() => 0);
        const before = await installation.commands();
        await timesOfCreates(installation, tenantOf(0), perRound, connections);
        // In turns, so that other work of the machine affects all of them.
        for (let round = 0; round < rounds; round++) {
          for (const i of kinds.keys()) {
            const cpu = cpuOf(service);
            times[i].push(...(await timesOfCreates(installation, tenantOf(i), perRound, connections)));
            await pause(300);
            spent[i] += cpuOf(service) - cpu;
          }
        }
        console.log(`  WORKER=${worker}, ${connections} connections:`);
        for (const [i, kind] of kinds.entries())
          console.log(
            `    ${kind}: ${percentiles(times[i])}, ${(spent[i] / times[i].length).toFixed(2)} ms of CPU each`,
          );
        reportCommands(before, await installation.commands(), perRound * (rounds * 3 + 1), 'a create');
      }
      good.stop();
      hanging.stop();
    });
  }
}

async function hostile() {
  await withInstallation('off', async (installation) => {
    const worker = await installation.startWorker();
    const receivers = await startHostileReceivers();
    for (const i of HOSTILE_KINDS.keys())
      for (let n = 0; n < 4; n++) await installation.subscribe(tenantOf(100 + i), `${receivers.url}/${i}`);
    const memory = watchMemory(worker);
    const tenants = HOSTILE_KINDS.map((_, i) => tenantOf(100 + i));
    const stream = await startStream(installation, [tenantOf(1), ...tenants]);
    await pause(SECONDS * 1_000);
    const { waits } = await stream.end();
    console.log(`  good receivers beside them: ${percentiles(waits)}`);
    console.log(`  the worker: RSS ${memory.end()}`);
    const counts = HOSTILE_KINDS.map((kind, i) => `${kind} ${receivers.requests[`/${i}`] ?? 0}`);
    console.log(
      `  attempts: ${counts.join(', ')}; redirects followed: ${receivers.requests['/redirected'] ?? 0}`,
    );
    receivers.stop();
  });
}

async function flood() {
  for (const { kind, tenants } of FLOODS) {
    await withInstallation('inline', async (installation, service) => {
      const hanging = await startHostileReceivers();
      const counts = { own: 0, good: 0 };
      const own = await startGoodReceiver((_id, _at, path) => counts[path === '/good' ? 'good' : 'own']++);
      const flooders = Array.from({ length: tenants }, (_, n) => tenantOf(10 + n));
      const urls = Array.from({ length: FLOOD.subscriptions - 1 }, (_, n) =>
        kind === 'answer' ? `${own.url}/${n}` : `${hanging.url}/${HOSTILE_KINDS.indexOf('no answer')}?${n}`,
      );
      const subscribe = async (tenant) => {
        for (const url of [...urls, `${own.url}/good`]) await installation.subscribe(tenant, url);
      };
      for (let n = 0; n < tenants; n += 8) await Promise.all(flooders.slice(n, n + 8).map(subscribe));
      const memory = watchMemory(service);
      const received = new Map();
      const victim = await startGoodReceiver((id, at) => received.set(id, at));
      await installation.subscribe(tenantOf(2), victim.url);
      const posts = Math.ceil(FLOOD.posts / tenants);
      const flooding = Promise.all(
        flooders.map((tenant) => timesOfCreates(installation, tenant, posts, tenants > 1 ? 1 : 16)),
      );
      const answered = new Map();
      for (let n = 0; n < FLOOD.seconds * 2; n++) {
        const { _id } = await installation.post('/posts/api', tenantOf(2), { title: 'Victim' });
        answered.set(_id, performance.now());
        await pause(500);
      }
      await flooding;
      await until(() => received.size >= answered.size);
      const waits = [...answered].map(([id, at]) => received.get(id) - at);
      console.log(
        `  ${tenants} × ${FLOOD.subscriptions} subscriptions that ${kind}, ${posts * tenants} posts at once:`,
      );
      console.log(`    another tenant's ${waits.length} webhooks: ${percentiles(waits)}`);
      console.log(`    their own: ${counts.own + counts.good}; of their good subscriptions ${counts.good}`);
      console.log(`    the API and worker: RSS ${memory.end()}`);
      for (const one of [own, victim, hanging]) one.stop();
    });
  }
}

async function idle() {
  if (!process.env.MONGODB_URI) return console.log('  not counted here');
  await withInstallation('off', async (installation, service) => {
    const count = async (name, processes) => {
      const [before, cpu] = [await installation.commands(), processes.map(cpuOf)];
      await pause(20_000);
      const spent = processes.reduce((sum, one, i) => sum + cpuOf(one) - cpu[i], 0);
      console.log(`  ${name}: ${(spent / 200).toFixed(2)} % of a core`);
      reportCommands(before, await installation.commands(), 20, 'a second');
    };
    await count('an API process', [service]);
    const worker = await installation.startWorker();
    await count('an API process and a worker', [service, worker]);
  });
}

/**
 * Creates posts of the tenants in turns, at a steady pace, and times the deliveries of the first tenant's
 * posts.
 */
async function startStream(installation, tenants) {
  const [answered, received] = [new Map(), new Map()];
  const receiver = await startGoodReceiver((id, at) => received.set(id, received.get(id) ?? at));
  await installation.subscribe(tenants[0], receiver.url);
  const agent = new Agent({ keepAlive: true });
  const times = [];
  const open = new Set();
  const create = async (tenant) => {
    const started = performance.now();
    const { _id } = await installation.post('/posts/api', tenant, { title: 'Release notes' }, agent);
    times.push(performance.now() - started);
    if (tenant === tenants[0]) answered.set(_id, performance.now());
  };
  let next = 0;
  const timer = setInterval(
    () => {
      // Each other tenant gets one post for every ten of the first one.
      const turn = next++ % (9 + tenants.length);
      const work = create(tenants[Math.max(0, turn - 9)]).finally(() => open.delete(work));
      open.add(work);
    },
    (60 * 1_000) / PER_MINUTE,
  );
  return {
    async end() {
      clearInterval(timer);
      await Promise.all(open);
      await until(() => received.size >= answered.size);
      agent.destroy();
      receiver.stop();
      return { times, waits: [...answered].map(([id, at]) => received.get(id) - at) };
    },
  };
}

async function withInstallation(worker, run) {
  const installation = new Installation();
  try {
    await run(installation, await installation.startService(worker));
  } finally {
    await installation.remove();
  }
}

async function until(condition) {
  for (const end = performance.now() + PATIENCE_MS; !condition(); await pause(20))
    if (performance.now() > end) throw new Error('Deliveries are missing');
}

function reportCommands(before, after, divisor, unit) {
  if (!before) return;
  const each = Object.keys(after).map((name) => [name, (after[name] - before[name]) / divisor]);
  const sum = each.reduce((total, [, count]) => total + count, 0);
  const parts = each.filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count.toFixed(3)}`);
  console.log(`    commands ${unit}: ${sum.toFixed(2)} (${parts.join(', ')})`);
}
