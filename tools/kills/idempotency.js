import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { KillRun } from '../support/kill-run.js';
import { buildBundles } from '../../scripts/build-if-missing.js';
import { killProcess } from '../../scripts/support/processes.js';

const USAGE = `Usage: node tools/kills/idempotency.js [--kills 200] [--seed 7]

Kills the service at random moments while clients repeat keyed requests, on the MongoDB of MONGODB_URI or the embedded
database. Fails if a key has two records, or if its clients got different answers.`;
const run = new KillRun(USAGE);
await buildBundles();

/** Number of keys in use at a time, and of clients that send each of them. */
const GROUPS = 17;
const CLIENTS = 3;
/** Maximum number of keys without an answer; while a process starts, more of them would only queue up. */
const MAX_PENDING = 51;
/** A process is killed after a random number of answers below this, and a random moment later (milliseconds). */
const LIFE_ANSWERS = 60;
const LIFE_MS = 30;
/** How long a group waits for its key before it continues with the next one. Unit: milliseconds. */
const PATIENCE_MS = 200;
/** Time after which the key of a dead process must be free. Unit: milliseconds. */
const FREE_MS = 10_000;

const HEADERS = ['content-type', 'location', 'etag', 'preference-applied', 'vary'];

/** The requests for a key, by its number. */
const KINDS = [
  { path: '/todos', body: (title) => ({ title }) },
  { path: '/todos', body: (title) => ({ title }), prefer: true },
  { path: '/posts/api', body: (title) => ({ title, tags: ['kill'] }), token: true },
  { path: '/posts/api', body: (title) => ({ title }), token: true, prefer: true },
  { path: '/todos', body: (title) => ({ title, unknown: true }) },
];

const env = { PATH: process.env.PATH, LOG_LEVEL: 'error' };
const installation = new Installation({ env });
const token = installation.token(tenantOf(1));
/** Resolves once the service is up again. */
let up = Promise.resolve();
/** Number of the next key. */
let next = 0;
/** Keys that their groups have left without an answer. */
const pending = new Set();
const figures = { requests: 0, lost: 0, inFlight: 0, replayed: 0 };
/** The first answer that clients got for each key, by its number. */
const told = new Map();
/** The requests with each key, by its number. */
const uses = new Map();

async function untilAnswered(requests) {
  while (figures.requests < requests) await pause(1);
}

async function send(number) {
  const { path, body, prefer, token: needsToken } = KINDS[number % KINDS.length];
  const response = await fetch(installation.url + path, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Idempotency-Key': `key-${number}`,
      ...(prefer && { Prefer: 'return=representation' }),
      ...(needsToken && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body(`record ${number}`)),
  });
  const text = await response.text();
  figures.requests++;
  return { status: response.status, text, headers: response.headers };
}

/**
 * The requests with a key: how many were sent and are in flight, and when the last one ended without a final
 * answer, which may have left the key in use.
 */
function useOf(number) {
  const use = uses.get(number) ?? { sent: 0, inFlight: 0, leftAt: -Infinity };
  uses.set(number, use);
  return use;
}

/** Sends a request, and records it if its key is still in use although no request uses it. */
async function attempt(number) {
  const use = useOf(number);
  const isFirst = use.inFlight === 0;
  const place = ++use.sent;
  const waited = Date.now() - use.leftAt;
  use.inFlight++;
  const answer = await send(number).catch(() => undefined);
  use.inFlight--;
  if (answer === undefined || isRejection(answer)) use.leftAt = Date.now();
  // Any other request, even a later one, may rightly use the key.
  else if (isInUse(answer) && isFirst && use.sent === place && waited > FREE_MS) {
    run.fault(`key ${number} is not free ${waited} ms after its last use`);
  }
  return answer;
}

/** Whether a process under load, or in trouble, has rejected the request, which decides nothing about its key. */
function isRejection({ status }) {
  return status === 429 || status >= 500;
}

function isInUse({ text }) {
  return text.includes('IDEMPOTENCY_KEY_IN_USE');
}

/** Repeats a request until it gets a final answer, and compares the answer with those of other clients. */
async function insist(number) {
  for (;;) {
    await up;
    const answer = await attempt(number);
    if (answer === undefined) {
      figures.lost++;
      await pause(20);
      continue;
    }
    if (isRejection(answer) || isInUse(answer)) {
      figures.inFlight++;
      await pause(100 + run.random() * 300);
      continue;
    }
    if (answer.headers.get('idempotency-replayed') === 'true') figures.replayed++;
    const shown = JSON.stringify([
      answer.status,
      answer.text,
      ...HEADERS.map((name) => answer.headers.get(name)),
    ]);
    const first = told.get(number) ?? shown;
    told.set(number, first);
    if (shown !== first) run.fault(`key ${number}: told ${first}, then ${shown}`);
    return;
  }
}

async function group() {
  while (!run.isOver) {
    const number = next++;
    const sent = Promise.all(Array.from({ length: CLIENTS }, () => insist(number)));
    pending.add(sent);
    void sent.then(() => pending.delete(sent));
    await Promise.race([sent, pause(PATIENCE_MS)]);
    await up;
    while (pending.size > MAX_PENDING) await Promise.race(pending);
  }
}

/** Checks that each key that was answered has its one record, or none if its request is invalid. */
async function checkRecords() {
  const lists = ['/todos', '/posts/api'].map(async (path) => (await fetch(installation.url + path)).json());
  const titles = (await Promise.all(lists)).flat().map(({ title }) => title);
  const count = (title) => titles.filter((one) => one === title).length;
  for (const [number, shown] of told) {
    const wanted = number % KINDS.length === KINDS.length - 1 ? [400, 0] : [201, 1];
    const got = [JSON.parse(shown)[0], count(`record ${number}`)];
    if (String(got) !== String(wanted))
      run.fault(`key ${number}: status and records are ${got}, not ${wanted}`);
  }
}

run.begin(installation.uri ? 'a MongoDB' : 'the embedded database');
let service = await installation.startService('inline');
try {
  const groups = Array.from({ length: GROUPS }, group);
  const kill = async () => {
    await untilAnswered(figures.requests + run.random() * LIFE_ANSWERS);
    await pause(run.random() * LIFE_MS);
    const restarted = killProcess(service).then(() => installation.startService('inline'));
    up = restarted;
    service = await restarted;
  };
  await run.repeat(kill, () => `${told.size} keys answered`);
  await Promise.all([...groups, ...pending]);
  for (const number of told.keys()) await insist(number);
  await checkRecords();
} finally {
  await killProcess(service);
  await installation.remove();
}
run.end(
  `${told.size} keys, ${figures.requests} answers (${figures.replayed} replays, ` +
    `${figures.inFlight} in flight), ${figures.lost} requests lost`,
);
