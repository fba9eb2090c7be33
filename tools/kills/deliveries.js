import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { KillRun } from '../support/kill-run.js';
import { Mongod, ReplicaSet } from '../support/mongod.js';
import { killProcess } from '../../scripts/support/processes.js';

/**
 * Kills processes at random moments (SIGKILL) while clients create posts, restarts them each time, and checks
 * that every acknowledged post exists, was delivered to each subscription of its tenant, and was sent once
 * through the live stream; that nothing was delivered for posts that do not exist; and that deliveries with
 * one id have the same bytes.
 */
const USAGE = `Usage: node tools/kills/deliveries.js [--kills 200] [--seed 7] [--mongod PATH [--standalone]]

Kills the API process, which also delivers, on the embedded database. With --mongod it starts that server, as a replica
set of one or standalone, and kills the API, a worker process, both, or the mongod.`;
const run = new KillRun(USAGE, {
  mongod: { type: 'string' },
  standalone: { type: 'boolean', default: false },
});
const { mongod: binary, standalone } = run.options;
await import('../../scripts/build-if-missing.js');

const TENANTS = [1, 2, 3].map(tenantOf);
const SUBSCRIPTIONS_PER_TENANT = 2;
/** Number of clients that create posts at the same time. */
const CLIENTS = 16;
/** Number of attempts that one worker makes at a time. After each kill, as many may be repeated. */
const ATTEMPTS_AT_A_TIME = 256;
/** Maximum time before a process is killed once everything is ready again. Unit: milliseconds. */
const LIFE_MS = 1_500;
/** While deliveries are open, one must arrive within this time, as a second retry does. Unit: milliseconds. */
const STANDSTILL_MS = 400_000;

run.begin(binary ? `a mongod${standalone ? '' : ' of a replica set'}` : 'the embedded database');
const mongod = binary && (standalone ? new Mongod({ binary }) : new ReplicaSet({ members: 1, binary }));
await mongod?.start();
const env = { PATH: process.env.PATH, LOG_LEVEL: 'fatal' };
const installation = new Installation({ uri: mongod?.uri ?? '', env });

/** The processes of the service, by name. */
const running = {};
const starts = {
  mongod: () => mongod.start(),
  api: async () => (running.api = await installation.startService(mongod ? 'off' : 'inline')),
  worker: async () => (running.worker = await installation.startWorker()),
};
const kill = (name) => (name === 'mongod' ? mongod.kill() : killProcess(running[name]));
/** What is killed at a time. */
const kinds = mongod ? [['api'], ['worker'], ['api', 'worker'], ['mongod']] : [['api']];

/** Number of the next post. */
let next = 0;
const figures = { sent: 0, unanswered: 0, deliveries: 0, repeated: 0 };
/** Acknowledged posts: the tenant of each identifier. */
const ledger = new Map();
/** Bodies by path of the subscription and id of the message. */
const received = new Map();
/** Where each post has arrived: a place and an identifier. */
const arrived = new Set();
/** Identifiers and secrets of the subscriptions, by path. */
const subscriptions = new Map();

const pathsOf = (tenant) => Array.from({ length: SUBSCRIPTIONS_PER_TENANT }, (_, n) => `/${tenant}/${n}`);
const streamOf = (tenant) => `the stream of ${tenant}`;

/** Sends a request as a tenant. */
function send(path, tenant, { headers, ...options } = {}) {
  const Authorization = `Bearer ${installation.token(tenant)}`;
  return fetch(installation.url + path, { ...options, headers: { ...headers, Authorization } });
}

/** The subscribers: they check each message's signature and remember its bytes. */
const receiver = createServer(async (request, response) => {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return;
  }
  const { url: path, headers } = request;
  const body = Buffer.concat(chunks).toString();
  const message = `${path} ${headers['webhook-id']}`;
  if (!isSigned(path, headers, body)) run.fault(`${message}: the signature is wrong`);
  const first = received.get(message) ?? body;
  if (first !== body) run.fault(`${message}: ${first}, then ${body}`);
  figures.deliveries++;
  figures.repeated += Number(received.has(message));
  received.set(message, first);
  arrived.add(`${path} ${JSON.parse(first).data._id}`);
  response.writeHead(204).end();
});

function isSigned(path, headers, body) {
  const key = Buffer.from(subscriptions.get(path).secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest('base64');
  return (headers['webhook-signature'] ?? '').split(' ').includes(`v1,${expected}`);
}

async function subscribe() {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  for (const tenant of TENANTS) {
    for (const path of pathsOf(tenant)) {
      const url = `http://127.0.0.1:${receiver.address().port}${path}`;
      subscriptions.set(path, await installation.subscribe(tenant, url));
    }
  }
}

/** Creates posts until the run is over. */
async function client() {
  const headers = { 'Content-Type': 'application/json' };
  while (!run.isOver) {
    const number = next++;
    const tenant = TENANTS[number % TENANTS.length];
    figures.sent++;
    try {
      const body = JSON.stringify({ title: `post ${number}` });
      const answer = await send('/posts/api', tenant, { method: 'POST', headers, body });
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
      const headers = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
      const answer = await send('/events', tenant, { headers, signal });
      if (answer.status !== 200) {
        if (answer.status === 400) run.fault(`GET /events answers ${await answer.text()}`);
        await pause(50);
        continue;
      }
      for await (const { id = lastId, data } of eventsOf(answer)) {
        lastId = id;
        if (data === undefined) continue;
        const post = JSON.parse(data).data;
        if (seen.has(id)) run.fault(`${streamOf(tenant)} repeats ${id}`);
        if (post.tenant !== tenant) run.fault(`${streamOf(tenant)} has a post of ${post.tenant}`);
        seen.add(id);
        arrived.add(`${streamOf(tenant)} ${post._id}`);
      }
    } catch {
      await pause(20);
    }
  }
}

/** The events of a stream, each with its fields. */
async function* eventsOf({ body }) {
  let text = '';
  for await (const chunk of body.pipeThrough(new globalThis.TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop();
    for (const block of blocks)
      yield Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)));
  }
}

/** The acknowledged posts that have not arrived everywhere yet, each with the place. */
function missing() {
  return [...ledger].flatMap(([id, tenant]) =>
    [...pathsOf(tenant), streamOf(tenant)]
      .filter((place) => !arrived.has(`${place} ${id}`))
      .map((place) => ({ id, tenant, place })),
  );
}

/** The queue's delivery of a missing post; undefined for a stream, which has no queue. */
async function deliveryOf({ id, tenant, place }) {
  if (!subscriptions.has(place)) return undefined;
  const { _id } = subscriptions.get(place);
  const answer = await send(`/subscriptions/${_id}/deliveries?event=evt_${id}`, tenant);
  const body = await answer.json();
  return answer.status === 200 ? body[0] : body;
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
  return Date.now() - begun;
}

async function check() {
  const answer = await fetch(`${installation.url}/posts/api?fields=title`);
  const stored = new Set((await answer.json()).map(({ _id }) => _id));
  for (const id of ledger.keys()) if (!stored.has(id)) run.fault(`the acknowledged post ${id} is not there`);
  for (const [message, body] of received) {
    const { data, type } = JSON.parse(body);
    if (!stored.has(data._id)) run.fault(`${message}: the post ${data._id} is not there`);
    if (type !== 'posts.created' || !message.startsWith(`/${data.tenant}/`)) run.fault(`${message}: ${body}`);
  }
  for (const one of missing()) {
    const delivery = run.faults.length < 20 ? await deliveryOf(one) : undefined;
    run.fault(`post ${one.id} did not come to ${one.place}: ${JSON.stringify(delivery)}`);
  }
  const allowed = run.kills * ATTEMPTS_AT_A_TIME;
  if (figures.repeated > allowed)
    run.fault(`${figures.repeated} deliveries were repeated, more than ${allowed}`);
}

const streams = new globalThis.AbortController();
let drained;
try {
  for (const name of new Set(kinds.flat())) if (name !== 'mongod') await starts[name]();
  await subscribe();
  for (const tenant of TENANTS) void follow(tenant, streams.signal);
  await pause(500);
  const clients = Array.from({ length: CLIENTS }, client);
  const killSome = async () => {
    await pause(run.random() * LIFE_MS);
    const names = kinds[Math.floor(run.random() * kinds.length)];
    await Promise.all(names.map(kill));
    await Promise.all(names.map((name) => starts[name]()));
  };
  await run.repeat(killSome, () => `${ledger.size} posts acknowledged`);
  await Promise.all(clients);
  drained = await drain();
  await check();
} finally {
  streams.abort();
  for (const child of Object.values(running)) await killProcess(child);
  await mongod?.remove();
}
run.end(
  `${figures.sent} creates (${ledger.size} acknowledged, ${figures.unanswered} without an answer), ` +
    `${figures.deliveries} deliveries (${figures.repeated} repeated), ` +
    `all delivered ${(drained / 1_000).toFixed(1)} s after the last kill`,
);
