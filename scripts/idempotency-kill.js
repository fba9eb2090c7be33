import { Buffer } from 'node:buffer';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SignJWT } from 'jose';
import mongoose from 'mongoose';
import { freePort } from './support/free-port.js';

/**
 * Kills the built service at random moments (SIGKILL) while clients repeat the same keyed requests, restarts
 * it each time, and checks that no key has two records and that all clients got the same answer.
 *
 * `npm run check:idempotency -- --kills 200 --seed 7` uses the MongoDB of MONGODB_URI, or the embedded database.
 */
const { values } = parseArgs({
  options: { kills: { type: 'string', default: '5' }, seed: { type: 'string' } },
});
const KILLS = Number(values.kills);
const SEED = Number(values.seed ?? Date.now() % 1_000_000);

/** Number of keys in use at a time, and of clients that send each of them. */
const GROUPS = 17;
const CLIENTS = 3;
/** Maximum number of keys without an answer; while a process starts, more of them would only queue up. */
const MAX_PENDING = 51;
/**
 * A process is killed after a random number of answers below this, and a random moment later (milliseconds).
 */
const LIFE_ANSWERS = 60;
const LIFE_MS = 30;
const READY_MS = 120_000;
/**
 * How long a group waits for its key before it continues with the next one; the key stays in use. Unit:
 * milliseconds.
 */
const PATIENCE_MS = 200;
/** Time after which the key of a dead process must be free. Unit: milliseconds. */
const FREE_MS = 10_000;

const SECRET = 'a secret for this check, of more than 32 bytes';
const TENANT = '665f1c2ab7e3a90d4c8b0001';
const HEADERS = ['content-type', 'location', 'etag', 'preference-applied', 'vary'];

/** The requests for a key, by its number. */
const KINDS = [
  { path: '/todos', body: (title) => ({ title }) },
  { path: '/todos', body: (title) => ({ title }), prefer: true },
  { path: '/posts/api', body: (title) => ({ title, tags: ['kill'] }), token: true },
  { path: '/posts/api', body: (title) => ({ title }), token: true, prefer: true },
  { path: '/todos', body: (title) => ({ title, unknown: true }) },
];

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
const dataDir = mkdtempSync(join(tmpdir(), 'idempotency-kill-'));
const mongodbUri = process.env.MONGODB_URI && freshDatabase(process.env.MONGODB_URI);
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const token = await new SignJWT({ tenant: TENANT, sub: 'emma', exp: Math.floor(Date.now() / 1_000) + 7_200 })
  .setProtectedHeader({ alg: 'HS256' })
  .sign(Buffer.from(SECRET));

const run = { kills: 0, stopped: false, over: false, next: 0, up: Promise.resolve(), pending: new Set() };
const figures = { requests: 0, lost: 0, inFlight: 0, replayed: 0 };
const faults = [];
/** The first answer that clients got for each key, by its number. */
const told = new Map();
/** The requests with each key, by its number. */
const uses = new Map();

function freshDatabase(uri) {
  const fresh = new URL(uri);
  fresh.pathname = `/idempotency_kill_${process.pid}`;
  return fresh.href;
}

async function start() {
  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    DATA_DIR: dataDir,
    JWT_SECRET: SECRET,
    LOG_LEVEL: 'error',
    ...(mongodbUri && { MONGODB_URI: mongodbUri }),
  };
  const service = spawn(process.execPath, ['dist/bundle/main.js'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const deadline = Date.now() + READY_MS;
  while (service.exitCode === null && Date.now() < deadline) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (answer?.status === 200) return service;
    await pause(20);
  }
  service.kill('SIGKILL');
  throw new Error('The service did not become ready.');
}

async function untilAnswered(requests) {
  while (figures.requests < requests) await pause(1);
}

async function kill(service) {
  const ended = once(service, 'close');
  service.kill('SIGKILL');
  await ended;
}

async function send(number) {
  const { path, body, prefer, token: needsToken } = KINDS[number % KINDS.length];
  const response = await fetch(url + path, {
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
  if (answer === undefined || isRefusal(answer)) use.leftAt = Date.now();
  // Any other request, even a later one, may rightly use the key.
  else if (isInUse(answer) && isFirst && use.sent === place && waited > FREE_MS) {
    faults.push(`key ${number} is not free ${waited} ms after its last use`);
  }
  return answer;
}

/**
 * Whether a process under load, or in trouble, has rejected the request, which decides nothing about its key.
 */
function isRefusal({ status }) {
  return status === 429 || status >= 500;
}

function isInUse({ text }) {
  return text.includes('IDEMPOTENCY_KEY_IN_USE');
}

/** Repeats a request until it gets a final answer, and compares the answer with those of other clients. */
async function insist(number) {
  for (;;) {
    await run.up;
    const answer = await attempt(number);
    if (answer === undefined) {
      figures.lost++;
      await pause(20);
      continue;
    }
    if (isRefusal(answer) || isInUse(answer)) {
      figures.inFlight++;
      await pause(100 + random() * 300);
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
    if (shown !== first) faults.push(`key ${number}: told ${first}, then ${shown}`);
    return;
  }
}

async function group() {
  while (!run.over) {
    const number = run.next++;
    const sent = Promise.all(Array.from({ length: CLIENTS }, () => insist(number)));
    run.pending.add(sent);
    void sent.then(() => run.pending.delete(sent));
    await Promise.race([sent, pause(PATIENCE_MS)]);
    await run.up;
    while (run.pending.size > MAX_PENDING) await Promise.race(run.pending);
  }
}

/** Number of records with each title. */
async function recordsByTitle() {
  const titles = new Map();
  for (const path of ['/todos', '/posts/api']) {
    for (const { title } of await (await fetch(url + path)).json()) {
      titles.set(title, (titles.get(title) ?? 0) + 1);
    }
  }
  return titles;
}

function checkRecords(titles) {
  for (const [number, shown] of told) {
    const [status] = JSON.parse(shown);
    const wanted = number % KINDS.length === KINDS.length - 1 ? [400, 0] : [201, 1];
    const got = [status, titles.get(`record ${number}`) ?? 0];
    if (String(got) !== String(wanted)) {
      faults.push(`key ${number}: status and records are ${got}, not ${wanted}`);
    }
  }
}

// An interrupted run still checks its work.
process.once('SIGINT', () => (run.stopped = true));
console.log(`${KILLS} kills, seed ${SEED}, on ${mongodbUri ? 'a MongoDB' : 'the embedded database'}`);
const { status } = spawnSync(process.execPath, ['scripts/build-if-missing.js'], { stdio: 'inherit' });
if (status !== 0) process.exit(1);
let service = await start();
try {
  const groups = Array.from({ length: GROUPS }, group);
  for (; run.kills < KILLS && !run.stopped; run.kills++) {
    await untilAnswered(figures.requests + random() * LIFE_ANSWERS);
    await pause(random() * LIFE_MS);
    const restarted = kill(service).then(start);
    run.up = restarted;
    service = await restarted;
    if ((run.kills + 1) % 20 === 0) console.log(`${run.kills + 1} kills, ${told.size} keys answered`);
  }
  run.over = true;
  await Promise.all([...groups, ...run.pending]);
  for (const number of told.keys()) await insist(number);
  checkRecords(await recordsByTitle());
} finally {
  await kill(service);
  rmSync(dataDir, { recursive: true, force: true });
  if (mongodbUri) {
    const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
    await client.db().dropDatabase();
    await client.close();
  }
}
for (const fault of faults.slice(0, 20)) console.log(fault);
console.log(
  `${run.kills} kills, ${told.size} keys, ${figures.requests} answers (${figures.replayed} replays, ` +
    `${figures.inFlight} in flight), ${figures.lost} requests lost: ${faults.length} faults`,
);
process.exit(faults.length > 0 ? 1 : 0);
