import { Buffer } from 'node:buffer';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SignJWT } from 'jose';
import mongoose from 'mongoose';
import { freePort } from './support/free-port.js';

/**
 * Kills processes at random moments (SIGKILL) while clients create posts, restarts them each time, and checks
 * that every acknowledged post exists, was delivered to each subscription of its tenant, and was sent once
 * through the live stream; that nothing was delivered for posts that do not exist; and that deliveries with
 * one id have the same bytes.
 *
 * `npm run check:delivery -- --kills 200 --seed 7` kills the API process, which also delivers, on the
 * embedded database. With `--mongod <path of a mongod>` it starts that server (as a replica set of one, or
 * without a set by `--standalone`), and kills the API, a worker process, both, or the mongod.
 */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '5' },
    seed: { type: 'string' },
    mongod: { type: 'string' },
    standalone: { type: 'boolean', default: false },
  },
});
const KILLS = Number(values.kills);
const SEED = Number(values.seed ?? Date.now() % 1_000_000);

const TENANTS = ['665f1c2ab7e3a90d4c8b0001', '665f1c2ab7e3a90d4c8b0002', '665f1c2ab7e3a90d4c8b0003'];
const SUBSCRIPTIONS_PER_TENANT = 2;
/** Number of clients that create posts at the same time. */
const CLIENTS = 16;
/** Number of attempts that one worker makes at a time. After each kill, as many may be repeated. */
const ATTEMPTS_AT_A_TIME = 256;
/** Maximum time before a process is killed once everything is ready again. Unit: milliseconds. */
const LIFE_MS = 1_500;
const READY_MS = 120_000;
/**
 * While deliveries are open, one must arrive within this time: a lease is 30 s, a first retry 5 s. Unit:
 * milliseconds.
 */
const STANDSTILL_MS = 120_000;
/**
 * The same if deliveries wait for their second retry, 5 min later, because attempts failed on a busy machine.
 * Unit: milliseconds.
 */
const PLANNED_MS = 400_000;
const SECRET = 'a secret for this check, of more than 32 bytes';

/** Mulberry32: the same moments for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = randomOf(SEED);
const folder = mkdtempSync(join(tmpdir(), 'delivery-kill-'));
const [port, workerPort, mongodPort] = [await freePort(), await freePort(), await freePort()];
const url = `http://127.0.0.1:${port}`;
const mongodbUri = values.mongod && `mongodb://127.0.0.1:${mongodPort}/delivery_kill?directConnection=true`;
const REPLICA_SET = { _id: 'delivery', members: [{ _id: 0, host: `127.0.0.1:${mongodPort}` }] };
const tokens = new Map();
for (const tenant of TENANTS) {
  const token = new SignJWT({ tenant, sub: 'emma', exp: Math.floor(Date.now() / 1_000) + 14_400 });
  tokens.set(tenant, await token.setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET)));
}

const run = { stopped: false, over: false, next: 0 };
const figures = { sent: 0, unanswered: 0, deliveries: 0, repeated: 0, reconnects: 0 };
const faults = [];
/** Acknowledged posts: the tenant of each identifier. */
const ledger = new Map();
/** Bodies by subscription and id of the message. */
const received = new Map();
/** Identifiers of the posts in each tenant's stream. */
const streamed = new Map(TENANTS.map((tenant) => [tenant, []]));

const processes = {
  mongod: { start: startMongod, running: undefined },
  api: { start: startApi, running: undefined },
  worker: { start: startWorker, running: undefined },
};
const kinds = values.mongod ? [['api'], ['worker'], ['api', 'worker'], ['mongod']] : [['api']];

function fault(text) {
  if (faults.push(text) <= 20) console.log(text);
}

function startNode(script, settings, ready) {
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: join(folder, 'data'),
    JWT_SECRET: SECRET,
    LOG_LEVEL: 'fatal',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    ...(mongodbUri && { MONGODB_URI: mongodbUri }),
    ...settings,
  };
  return untilReady(spawn(process.execPath, [script], { env, stdio: ['ignore', 'ignore', 'inherit'] }), () =>
    fetch(`${ready}/health/ready`).then(({ status }) => status === 200),
  );
}

function startApi() {
  return startNode('dist/bundle/main.js', { PORT: String(port), WORKER: mongodbUri ? 'off' : 'inline' }, url);
}

function startWorker() {
  return startNode(
    'dist/bundle/worker.js',
    { WORKER_PORT: String(workerPort) },
    `http://127.0.0.1:${workerPort}`,
  );
}

function startMongod() {
  const args = ['--port', String(mongodPort), '--bind_ip', '127.0.0.1', '--dbpath', folder];
  args.push('--setParameter', 'diagnosticDataCollectionEnabled=false');
  const set = values.standalone ? [] : ['--replSet', 'delivery'];
  const options = { stdio: 'ignore' };
  return untilReady(spawn(values.mongod, [...args, ...set], options), async () => {
    const client = new mongoose.mongo.MongoClient(mongodbUri, { serverSelectionTimeoutMS: 500 });
    try {
      const admin = (await client.connect()).db('admin');
      const hello = await admin.command({ hello: 1 });
      const isNew = !values.standalone && !hello.isWritablePrimary && !hello.setName;
      if (isNew) await admin.command({ replSetInitiate: REPLICA_SET }).catch(() => undefined);
      return hello.isWritablePrimary;
    } finally {
      await client.close();
    }
  });
}

async function untilReady(child, isReady) {
  const deadline = Date.now() + READY_MS;
  while (child.exitCode === null && Date.now() < deadline) {
    if (await isReady().catch(() => false)) return child;
    await pause(20);
  }
  child.kill('SIGKILL');
  throw new Error(`${child.spawnargs.join(' ')} did not become ready.`);
}

async function kill(name) {
  const { running } = processes[name];
  if (!running || running.exitCode !== null || running.signalCode !== null) return;
  const ended = once(running, 'close');
  running.kill('SIGKILL');
  await ended;
}

async function start(name) {
  processes[name].running = await processes[name].start();
}

/** The subscribers: they check each message's signature and remember its bytes. */
const secrets = new Map();
/** Identifiers of the subscriptions by path of their target. */
const subscriptions = new Map();
const receiver = createHttpServer(async (request, response) => {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return;
  }
  const body = Buffer.concat(chunks).toString();
  const {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature = '',
  } = request.headers;
  const key = Buffer.from(secrets.get(request.url).slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  if (!signature.split(' ').includes(`v1,${expected}`)) fault(`${request.url} ${id}: the signature is wrong`);
  const message = `${request.url} ${id}`;
  const first = received.get(message);
  if (first === undefined) received.set(message, body);
  else if (first !== body) fault(`${message}: ${first}, then ${body}`);
  figures.deliveries++;
  figures.repeated += Number(first !== undefined);
  response.writeHead(204).end();
});

async function subscribe() {
  for (const tenant of TENANTS) {
    for (let n = 0; n < SUBSCRIPTIONS_PER_TENANT; n++) {
      const path = `/${tenant}/${n}`;
      const body = { url: `http://127.0.0.1:${receiver.address().port}${path}`, events: ['posts.created'] };
      const answer = await post('/subscriptions', tenant, body);
      if (answer.status !== 201) throw new Error(`POST /subscriptions: ${await answer.text()}`);
      const { _id, secret } = await answer.json();
      subscriptions.set(path, _id);
      secrets.set(path, secret);
    }
  }
}

function post(path, tenant, body) {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tokens.get(tenant)}` },
    body: JSON.stringify(body),
  });
}

async function client() {
  while (!run.over) {
    const number = run.next++;
    const tenant = TENANTS[number % TENANTS.length];
    figures.sent++;
    try {
      const answer = await post('/posts/api', tenant, { title: `post ${number}` });
      if (answer.status === 201) ledger.set((await answer.json())._id, tenant);
      else await pause(50);
    } catch {
      figures.unanswered++;
      await pause(100);
    }
  }
}

/** Follows the live stream of a tenant, and resumes it whenever it breaks off. */
async function follow(tenant, signal) {
  let lastId;
  const seen = new Set();
  while (!signal.aborted) {
    try {
      const headers = {
        Authorization: `Bearer ${tokens.get(tenant)}`,
        ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
      };
      const answer = await fetch(`${url}/events`, { headers, signal });
      if (answer.status !== 200) {
        if (answer.status === 400) fault(`GET /events answers ${await answer.text()}`);
        await pause(50);
        continue;
      }
      figures.reconnects++;
      let text = '';
      for await (const chunk of answer.body.pipeThrough(new globalThis.TextDecoderStream())) {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop();
        for (const block of blocks) {
          const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)));
          if (fields.id !== undefined) lastId = fields.id;
          if (fields.data === undefined) continue;
          const { data } = JSON.parse(fields.data);
          if (seen.has(fields.id)) fault(`the stream of ${tenant} repeats ${fields.id}`);
          if (data.tenant !== tenant) fault(`the stream of ${tenant} has a post of ${data.tenant}`);
          seen.add(fields.id);
          streamed.get(tenant).push(data._id);
        }
      }
    } catch {
      await pause(20);
    }
  }
}

/** The acknowledged posts that have not arrived everywhere yet. */
function missing() {
  const arrived = new Set();
  for (const [message, body] of received) {
    arrived.add(`${message.split(' ')[0]} ${JSON.parse(body).data._id}`);
  }
  const told = new Map([...streamed].map(([tenant, ids]) => [tenant, new Set(ids)]));
  return [...ledger].flatMap(([id, tenant]) => [
    ...Array.from({ length: SUBSCRIPTIONS_PER_TENANT }, (_, n) => `/${tenant}/${n}`)
      .filter((path) => !arrived.has(`${path} ${id}`))
      .map((path) => ({ id, tenant, path, text: `post ${id} was not delivered to ${path}` })),
    ...(told.get(tenant).has(id)
      ? []
      : [{ id, tenant, text: `post ${id} did not come through the stream of ${tenant}` }]),
  ]);
}

/** The queue's delivery of a post's creation to a subscription. */
async function deliveryOf({ id, tenant, path }) {
  const query = `event=evt_${id}`;
  const answer = await fetch(`${url}/subscriptions/${subscriptions.get(path)}/deliveries?${query}`, {
    headers: { Authorization: `Bearer ${tokens.get(tenant)}` },
  });
  const body = await answer.json();
  return answer.status === 200 ? body[0] : body;
}

/** The queue's figures. */
async function queueFigures() {
  const answer = await fetch(`${url}/metrics`).catch(() => undefined);
  const lines = (await answer?.text())?.split('\n') ?? [];
  return lines.filter((line) => line.startsWith('notifications_deliveries_')).join(', ');
}

/** Whether everything missing waits for a retry that is planned for later. */
async function onlyPlanned() {
  for (const one of missing()) {
    const delivery = one.path && (await deliveryOf(one));
    if (delivery?.status !== 'pending' || !(Date.parse(delivery.nextAttemptAt) > Date.now() - 60_000))
      return false;
  }
  return true;
}

/** Waits until everything has arrived. @returns how long that took. Unit: milliseconds. */
async function drain() {
  const begun = Date.now();
  let open = missing().length;
  let moved = begun;
  while (open > 0 && Date.now() < moved + STANDSTILL_MS) {
    await pause(500);
    const left = missing().length;
    if (left < open) moved = Date.now();
    open = left;
  }
  if (open > 0) {
    console.log(`${open} deliveries are open, such as ${JSON.stringify(await deliveryOf(missing()[0]))}`);
    while (Date.now() < moved + PLANNED_MS && (await onlyPlanned()) && missing().length > 0)
      await pause(5_000);
  }
  return Date.now() - begun;
}

async function check() {
  const answer = await fetch(`${url}/posts/api?fields=title`);
  const stored = new Set((await answer.json()).map(({ _id }) => _id));
  for (const id of ledger.keys()) if (!stored.has(id)) fault(`the acknowledged post ${id} is not there`);
  for (const [message, body] of received) {
    const { data, type } = JSON.parse(body);
    if (!stored.has(data._id)) fault(`${message}: the post ${data._id} is not there`);
    if (type !== 'posts.created' || !message.startsWith(`/${data.tenant}/`)) fault(`${message}: ${body}`);
  }
  for (const one of missing()) {
    fault(faults.length < 20 ? `${one.text}: ${JSON.stringify(await deliveryOf(one))}` : one.text);
  }
  const allowed = KILLS * ATTEMPTS_AT_A_TIME;
  if (figures.repeated > allowed) fault(`${figures.repeated} deliveries were repeated, more than ${allowed}`);
}

// An interrupted run still checks its work.
process.once('SIGINT', () => (run.stopped = true));
const where = !values.mongod
  ? 'the embedded database'
  : values.standalone
    ? 'a standalone mongod'
    : 'a replica set';
console.log(`${KILLS} kills, seed ${SEED}, on ${where}`);
const { status } = spawnSync(process.execPath, ['scripts/build-if-missing.js'], { stdio: 'inherit' });
if (status !== 0) process.exit(1);
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const streams = new globalThis.AbortController();
let drained;
let kills = 0;
try {
  for (const name of values.mongod ? ['mongod', 'api', 'worker'] : ['api']) await start(name);
  await subscribe();
  const following = TENANTS.map((tenant) => follow(tenant, streams.signal));
  await pause(500);
  const clients = Array.from({ length: CLIENTS }, client);
  for (; kills < KILLS && !run.stopped; kills++) {
    await pause(random() * LIFE_MS);
    const names = kinds[Math.floor(random() * kinds.length)];
    await Promise.all(names.map(kill));
    await Promise.all(names.map(start));
    if ((kills + 1) % 20 === 0) {
      console.log(`${kills + 1} kills, ${ledger.size} posts acknowledged, ${await queueFigures()}`);
    }
  }
  run.over = true;
  await Promise.all(clients);
  drained = await drain();
  await check();
  streams.abort();
  await Promise.all(following);
} finally {
  streams.abort();
  for (const name of ['api', 'worker', 'mongod']) await kill(name);
  receiver.closeAllConnections();
  receiver.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  `${kills} kills, ${figures.sent} creates (${ledger.size} acknowledged, ${figures.unanswered} without an answer), ` +
    `${figures.deliveries} deliveries (${figures.repeated} repeated), ${figures.reconnects} streams opened, ` +
    `all delivered ${(drained / 1_000).toFixed(1)} s after the last kill: ${faults.length} faults`,
);
process.exit(faults.length > 0 ? 1 : 0);
