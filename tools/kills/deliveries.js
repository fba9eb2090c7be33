import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { KillRun } from '../support/kill-run.js';
import { Mongod, ReplicaSet } from '../support/mongod.js';
import { buildBundles } from '../../scripts/build-if-missing.js';
import { killProcess } from '../../scripts/support/processes.js';

/**
 * Kills processes at random moments (SIGKILL) while clients write records of three resources, restarts them each time,
 * and checks that the event of each acknowledged write, and of each record that is gone, was delivered to each
 * subscription of its tenant, and was sent once through the live stream; that nothing was delivered that did not
 * happen; and that deliveries with one id have the same bytes.
 */
const USAGE = `Usage: node tools/kills/deliveries.js [--kills 200] [--seed 7] [--mongod PATH [--standalone]]

Kills the API process, which also delivers, on the embedded database. With --mongod it starts that server, as a replica
set of one or standalone, and kills the API, a worker process, both, or the mongod.`;
const run = new KillRun(USAGE, {
  mongod: { type: 'string' },
  standalone: { type: 'boolean', default: false },
});
const { mongod: binary, standalone } = run.options;
await buildBundles();

const TENANTS = [1, 2, 3].map(tenantOf);
const SUBSCRIPTIONS_PER_TENANT = 2;
/** Number of clients that write at the same time. */
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
const SHOP = 'tools/kills/shop.js';
const starts = {
  mongod: () => mongod.start(),
  api: async () =>
    (running.api = await installation.startService(mongod ? 'off' : 'inline', {}, { program: [SHOP] })),
  worker: async () => (running.worker = await installation.startWorker({ program: [SHOP, 'worker'] })),
};
const kill = (name) => (name === 'mongod' ? mongod.kill() : killProcess(running[name]));
/** What is killed at a time. */
const kinds = mongod ? [['api'], ['worker'], ['api', 'worker'], ['mongod']] : [['api']];

/** Number of the next round of a client. */
let next = 0;
const figures = { sent: 0, unanswered: 0, deliveries: 0, repeated: 0 };
/**
 * Writes by type of event and identifier of the record: the tenant, and how many were sent, and acknowledged. A create
 * without an answer has no identifier.
 */
const ledger = new Map();
/** Bodies by path of the subscription and id of the message. */
const received = new Map();
/** Identifiers of the events that have arrived, by place, type and identifier of the record. */
const arrived = new Map();
/** Identifiers and secrets of the subscriptions, by path. */
const subscriptions = new Map();

/** What the first and the second subscription of a tenant ask for. */
const WANTED = [
  ['posts.*', 'orders.*', 'lines.*', 'orders.deleted'],
  [
    ...['created', 'updated', 'archived', 'restored'].map((verb) => `posts.${verb}`),
    ...['orders', 'lines'].flatMap((name) =>
      ['created', 'updated', 'deleted'].map((verb) => `${name}.${verb}`),
    ),
  ],
];
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
  arrive(path, headers['webhook-id'], JSON.parse(first));
  response.writeHead(204).end();
});

function arrive(place, id, { type, data }) {
  const key = `${place} ${type} ${data._id}`;
  arrived.set(key, (arrived.get(key) ?? new Set()).add(id));
}

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
    for (const [i, path] of pathsOf(tenant).entries()) {
      const url = `http://127.0.0.1:${receiver.address().port}${path}`;
      subscriptions.set(path, await installation.subscribe(tenant, url, WANTED[i]));
    }
  }
}

/** Sends a write, and resolves with its body if it is acknowledged. */
async function write(tenant, method, path, body) {
  figures.sent++;
  try {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await send(path, tenant, { method, headers, body: body && JSON.stringify(body) });
    const answered = await answer.json();
    if (answer.ok) return answered;
    await pause(50);
  } catch {
    figures.unanswered++;
    await pause(100);
  }
  return undefined;
}

/** Counts a write of a record, and that it was acknowledged. */
function count(tenant, type, id, isAcknowledged) {
  const key = `${type} ${id}`;
  const { sent = 0, acknowledged = 0 } = ledger.get(key) ?? {};
  ledger.set(key, { tenant, sent: sent + 1, acknowledged: acknowledged + Number(isAcknowledged) });
}

async function create(tenant, name, path, body) {
  const created = await write(tenant, 'POST', path, body);
  if (created) count(tenant, `${name}.created`, created._id, true);
  return created && { name, tenant, id: created._id, path: `${path}/${created._id}` };
}

/** Changes a record. @returns whether that is acknowledged; what is not may still be carried out */
async function change({ name, tenant, id, path }, verb, method, suffix = '', body = undefined) {
  const isAcknowledged = Boolean(await write(tenant, method, path + suffix, body));
  count(tenant, `${name}.${verb}`, id, isAcknowledged);
  return isAcknowledged;
}

/** Writes records until the run is over. */
async function client() {
  while (!run.isOver) {
    const number = next++;
    const tenant = TENANTS[number % TENANTS.length];
    await (number % 2 === 0 ? writePost(tenant, number) : writeOrder(tenant, number));
  }
}

async function writePost(tenant, number) {
  const post = await create(tenant, 'posts', '/posts/api', { title: `post ${number}` });
  if (!post || number % 4 === 0) return;
  if (!(await change(post, 'updated', 'PATCH', '', { title: `post ${number} again` }))) return;
  if (!(await change(post, 'archived', 'DELETE'))) return;
  await change(post, 'restored', 'POST', '/restore', {});
}

async function writeOrder(tenant, number) {
  const order = await create(tenant, 'orders', '/orders', { title: `order ${number}` });
  if (!order) return;
  const line = await create(tenant, 'lines', '/lines', { order: order.id });
  if (!line) return;
  if (!(await change(order, 'updated', 'PATCH', '', { title: `order ${number} again` }))) return;
  if (number % 4 === 1) return;
  // Half of the lines are deleted by themselves, the others with their order.
  if (number % 8 === 3) await change(line, 'deleted', 'DELETE');
  if (!(await change(order, 'deleted', 'DELETE')) && number % 3 === 0)
    await write(tenant, 'DELETE', order.path);
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
        const event = JSON.parse(data);
        if (seen.has(id)) run.fault(`${streamOf(tenant)} repeats ${id}`);
        seen.add(id);
        arrive(streamOf(tenant), id, event);
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

const placesOf = (tenant) => [...pathsOf(tenant), streamOf(tenant)];

/** The events that have not arrived everywhere yet, each with the place and how many have. */
function missing() {
  return [...ledger].flatMap(([key, { tenant, acknowledged }]) =>
    placesOf(tenant)
      .map((place) => ({ key, place, acknowledged, arrived: arrived.get(`${place} ${key}`)?.size ?? 0 }))
      .filter((one) => one.arrived < acknowledged),
  );
}

/** The stored records of a tenant, by identifier. */
async function stored(tenant) {
  const paths = ['/posts/api?archived=include&fields=title', '/orders?fields=title', '/lines?fields=order'];
  const lists = await Promise.all(paths.map(async (path) => (await send(path, tenant)).json()));
  return new Set(lists.flat().map(({ _id }) => _id));
}

/** Counts the deletion of each record that was created and is gone, and checks that of others none was acknowledged. */
async function countDeletions() {
  const records = new Map();
  for (const tenant of TENANTS) records.set(tenant, await stored(tenant));
  for (const [key, { tenant }] of [...ledger]) {
    const [type, id] = key.split(' ');
    const [name, verb] = type.split('.');
    if (verb !== 'created') continue;
    const deletion = `${name}.deleted ${id}`;
    if (!records.get(tenant).has(id)) ledger.set(deletion, { tenant, sent: 1, acknowledged: 1 });
    else if (ledger.get(deletion)?.acknowledged) run.fault(`the deleted record ${id} of ${name} is there`);
    else ledger.delete(deletion);
  }
  return records;
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

function check(records) {
  for (const [place, ids] of arrived) {
    const [type, id] = place.split(' ').slice(-2);
    const tenant = TENANTS.find((one) => place.includes(one));
    const isGone = !records.get(tenant).has(id);
    const known = ledger.get(`${type} ${id}`);
    const wrong = `${place}: ${ids.size} events`;
    if (known) {
      if (known.tenant !== tenant || ids.size > known.sent) run.fault(`${wrong}, ${JSON.stringify(known)}`);
    } else if (isGone || !type.endsWith('.created')) {
      run.fault(`${wrong} of a record that ${isGone ? 'is not there' : 'was not written so'}`);
    } else if (ids.size !== 1) run.fault(`${wrong} of a create without an answer`);
  }
  for (const one of missing()) run.fault(`did not arrive: ${JSON.stringify(one)}`);
  const allowed = run.kills * ATTEMPTS_AT_A_TIME;
  if (figures.repeated > allowed)
    run.fault(`${figures.repeated} deliveries were repeated, more than ${allowed}`);
}

const acknowledged = () => [...ledger.values()].reduce((sum, one) => sum + one.acknowledged, 0);

const streams = new globalThis.AbortController();
let outcome = 'not checked';
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
  await run.repeat(killSome, () => `${acknowledged()} writes acknowledged`);
  await Promise.all(clients);
  // What a killed process had sent to the database may still be carried out.
  await pause(2_000);
  const records = await countDeletions();
  outcome = `all delivered ${((await drain()) / 1_000).toFixed(1)} s after the last kill`;
  check(records);
} catch (error) {
  run.fault(`broken off: ${error.stack}`);
} finally {
  streams.abort();
  for (const child of Object.values(running)) await killProcess(child);
  await mongod?.remove();
}
run.end(
  `${figures.sent} writes (${acknowledged()} acknowledged, ${figures.unanswered} without an answer), ` +
    `${figures.deliveries} deliveries (${figures.repeated} repeated), ${outcome}`,
);
