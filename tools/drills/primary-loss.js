import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { Mongod, ReplicaSet } from '../support/mongod.js';

const CLIENTS = 50;
/** How long requests may fail after the loss of a primary; the members wait ten seconds before they elect another. */
const MAX_WINDOW_MS = 12_000;
/** How long a client waits after a failure. Unit: milliseconds. */
const RETRY_MS = 100;
/** Number of posts that must have been created between two events. */
const BETWEEN = 20 * CLIENTS;

/** The primary of three members steps down, and is killed, while posts are created: each acknowledged post must exist, once. */
export default async function primaryLoss({ short, begin }) {
  if (!Mongod.available)
    return { figures: { skipped: 'there is no mongod; set MONGOD to the path of one' }, failures: [] };
  const rounds = short ? 1 : 10;
  const set = new ReplicaSet();
  await set.start();
  const installation = new Installation({ uri: set.uri });
  const figures = {};
  const failures = [];
  let clients;
  try {
    await installation.startService('off');
    clients = new Clients(installation);
    const windows = { 'step-down': [], loss: [] };
    for (let round = 1; round <= rounds; round++) {
      begin(`step-down ${round} of ${rounds}`);
      windows['step-down'].push(await clients.windowOf(() => set.stepDown()));
      await set.settled();
      begin(`loss ${round} of ${rounds}`);
      const primary = await set.primary();
      windows.loss.push(await clients.windowOf(() => primary.kill()));
      await primary.start();
      await set.settled();
    }
    begin('end');
    await clients.stop();
    for (const [name, seen] of Object.entries(windows)) {
      const longest = Math.max(...seen.map(({ ms }) => ms));
      const errors = seen.reduce((sum, window) => sum + window.errors, 0);
      figures[name] =
        `${rounds} times: ${errors} errors, for ${longest.toFixed(0)} ms at most; ` +
        `nothing created for ${Math.max(...seen.map(({ gapMs }) => gapMs)).toFixed(0)} ms at most`;
      const limit = name === 'loss' ? MAX_WINDOW_MS : 0;
      if (longest > limit) failures.push(`${name}: requests failed for longer than ${limit} ms`);
    }
    const { lost, doubled } = await compared(installation, clients.created);
    Object.assign(figures, { acknowledged: clients.created.size, lost, doubled, broken: clients.broken });
    if (lost > 0) failures.push(`${lost} acknowledged posts are not there`);
    if (doubled > 0) failures.push(`${doubled} posts are there more than once`);
    if (clients.broken > 0) failures.push(`${clients.broken} requests without an answer`);
  } finally {
    await clients?.stop();
    await installation.remove().finally(() => set.remove());
  }
  return { figures, failures };
}

/** Clients that create posts one after the other, each with its own title. */
class Clients {
  /** Identifiers of acknowledged posts. */
  created = new Set();
  broken = 0;
  failedAt = [];
  isStopped = false;
  lastCreated = performance.now();
  gapMs = 0;

  constructor(installation) {
    this.working = Promise.all(Array.from({ length: CLIENTS }, (_, n) => this.work(installation, n)));
  }

  async stop() {
    this.isStopped = true;
    await this.working;
  }

  /** How long requests failed because of an event, how many failed, and the longest time without a success. */
  async windowOf(event) {
    await this.more();
    this.failedAt = [];
    this.gapMs = 0;
    const begun = performance.now();
    await event();
    await this.more();
    const ms = this.failedAt.length > 0 ? this.failedAt.at(-1) - begun : 0;
    return { ms, errors: this.failedAt.length, gapMs: this.gapMs };
  }

  async more() {
    const enough = this.created.size + BETWEEN;
    while (this.created.size < enough) await pause(10);
  }

  async work(installation, number) {
    for (let count = 0; !this.isStopped; count++) {
      try {
        const post = await installation.post('/posts/api', tenantOf(1), { title: `Post ${number}-${count}` });
        this.created.add(post._id);
        this.gapMs = Math.max(this.gapMs, performance.now() - this.lastCreated);
        this.lastCreated = performance.now();
      } catch (error) {
        // What fetch throws is a connection that broke, and not an answer.
        this.broken += Number(error instanceof TypeError);
        this.failedAt.push(performance.now());
        await pause(RETRY_MS);
      }
    }
  }
}

/** How many acknowledged posts the set lacks, and how many titles it has twice. */
async function compared({ client }, created) {
  const posts = client.db().collection('posts');
  const stored = await posts
    .find({}, { projection: { title: 1 }, readConcern: { level: 'majority' } })
    .toArray();
  const ids = new Set(stored.map(({ _id }) => String(_id)));
  const titles = new Set(stored.map(({ title }) => title));
  return { lost: [...created].filter((id) => !ids.has(id)).length, doubled: stored.length - titles.size };
}
